/** What a bench is: contestants that are measured in turns, and the ratios of their figures. */

/** Measures once and gives a figure in the unit of the comparisons it stands in. */
export type Contestant = () => Promise<number>

export type Target = { atLeast: number } | { atMost: number }

export interface Comparison {
  /** What is measured, such as "chat requests". */
  what: string
  unit: '/s' | 'tokens/s' | 'ms' | 'MB'
  /** Names of contestants. */
  ours: string
  peer: string
  /** Of ours divided by the peer's. */
  target: Target
  /** What is said behind the figure of a contestant, such as how much it did for it. */
  beside?(contestant: string): string
}

export interface Trial {
  contestants: Record<string, Contestant>
  comparisons: Comparison[]
  /** Ends every process and removes every file of the trial. */
  close(): Promise<void>
}

export interface Bench {
  name: string
  /** Run one after the other; opening one throws LeftOut where something that it needs is not there. */
  trials: (() => Promise<Trial>)[]
}

/** The bench cannot run here; the message says why. */
export class LeftOut extends Error {
  override name = 'LeftOut' as const
}

export interface Result extends Comparison {
  /** Medians over the rounds; the ratio is the median of each round's ratio, which noise that lasts longer than a round does not touch. */
  oursMedian: number
  peerMedian: number
  ratio: number
  met: boolean
}

/** A round that warms up and is not counted, then `rounds` rounds in which every contestant is measured once; every other round in reverse order. */
export async function runTrial(trial: Trial, rounds: number, onRound: (text: string) => void): Promise<Result[]> {
  const figures = new Map<string, number[]>(Object.keys(trial.contestants).map(name => [name, []]))
  for (let round = 0; round <= rounds; round++) {
    const entries = Object.entries(trial.contestants)
    for (const [name, measure] of round % 2 === 0 ? entries : entries.reverse()) {
      const figure = await measure()
      if (round > 0) figures.get(name)!.push(figure)
      onRound(`${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}: ${name} ${formatFigure(figure)}`)
    }
  }
  return trial.comparisons.map(comparison => toResult(comparison, figures))
}

export function toResult(comparison: Comparison, figures: ReadonlyMap<string, number[]>): Result {
  const ours = figures.get(comparison.ours)!
  const peer = figures.get(comparison.peer)!
  const ratio = median(ours.map((figure, round) => figure / peer[round]!))
  const { target } = comparison
  const met = 'atLeast' in target ? ratio >= target.atLeast : ratio <= target.atMost
  return { ...comparison, oursMedian: median(ours), peerMedian: median(peer), ratio, met }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length / 2
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Three digits that matter, whatever the size. */
export function formatFigure(figure: number): string {
  return figure >= 100 ? Math.round(figure).toLocaleString('en') : figure.toPrecision(3)
}
