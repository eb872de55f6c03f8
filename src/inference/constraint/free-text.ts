/** Text that goes on until one of some marks has been written. */
import { alternatives, byteClass, createRule, empty, type Node, nothing, sequence } from './grammar.ts'
import type { CompileBudget } from './limits.ts'

/** A place has about this many different bytes that matter. */
const PARTS_PER_PLACE = 8

/** A place in the marks: how much of which of them the text ends with. */
interface Place {
  next: Map<number, Place>
  /** The longest shorter end of the text that a mark begins with. */
  fallback: Place | null
  /** Marks that are complete here. */
  marks: string[]
}

/**
 * Any bytes without a mark in them; `afterMark` gives what follows once these marks have been completed by the same byte.
 * Where `mayEnd`, the text may also stop before any mark. Marks are found as Aho and Corasick do it,
 * @see https://doi.org/10.1145/360825.360855
 */
export function freeText(
  marks: readonly string[],
  mayEnd: boolean,
  afterMark: (completed: readonly string[]) => Node,
  budget: CompileBudget,
): Node {
  const places = createPlaces(marks)
  const rules = new Map(places.map(place => [place, createRule('free text')]))
  for (const [place, rule] of rules) {
    budget.spend(PARTS_PER_PLACE)
    const byTarget = Map.groupBy(Array(256).keys(), byte => follow(place, byte))
    rule.body = alternatives(
      mayEnd ? empty : nothing,
      ...[...byTarget].map(([target, bytes]) => {
        const flags = new Uint8Array(256)
        for (const byte of bytes) flags[byte] = 1
        return sequence(byteClass(flags), target.marks.length > 0 ? afterMark(target.marks) : rules.get(target)!)
      }),
    )
  }
  return rules.get(places[0])!
}

function createPlaces(marks: readonly string[]): Place[] {
  const root: Place = { next: new Map(), fallback: null, marks: [] }
  const places = [root]
  for (const mark of marks) {
    let place = root
    for (const byte of Buffer.from(mark)) {
      let next = place.next.get(byte)
      if (!next) {
        next = { next: new Map(), fallback: null, marks: [] }
        place.next.set(byte, next)
        places.push(next)
      }
      place = next
    }
    place.marks.push(mark)
  }
  // breadth first, so that the fallback of a shorter beginning is there already
  const queue = [root]
  for (const place of queue) {
    for (const [byte, next] of place.next) {
      next.fallback = place.fallback ? follow(place.fallback, byte) : root
      next.marks.push(...next.fallback.marks)
      queue.push(next)
    }
  }
  return places
}

function follow(place: Place, byte: number): Place {
  for (let from: Place | null = place; from; from = from.fallback) {
    const next = from.next.get(byte)
    if (next) return next
    if (!from.fallback) return from
  }
  return place
}
