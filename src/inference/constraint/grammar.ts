/** The one form that all rules compile to: a grammar over bytes, as a graph of immutable nodes that may be shared. */

export type Node = ByteClass | Words | Sequence | Alternatives | Repeat | Rule

/** One byte of a set. */
export interface ByteClass {
  readonly kind: 'class'
  /** 256 flags. */
  readonly bytes: Uint8Array
}

/**
 * One of many byte strings, of which `depth` bytes have been read already: those of `words` from index `from` to before
 * `to`. Being sorted, the words that share a beginning stand together, so a hundred thousand cost no more than their text.
 */
export interface Words {
  readonly kind: 'words'
  readonly words: readonly Uint8Array[]
  readonly from: number
  readonly to: number
  readonly depth: number
}

export interface Sequence {
  readonly kind: 'sequence'
  readonly parts: readonly Node[]
}

export interface Alternatives {
  readonly kind: 'alternatives'
  readonly options: readonly Node[]
}

export interface Repeat {
  readonly kind: 'repeat'
  readonly body: Node
  readonly min: number
  /** Null: any number of times. */
  readonly max: number | null
}

/** A named node, which may stand inside itself. Its body is set once, after it has been referred to. */
export interface Rule {
  readonly kind: 'rule'
  readonly name: string
  body: Node
}

/** Matches the empty text only. */
export const empty: Node = { kind: 'sequence', parts: [] }
/** Matches no text at all, not even the empty one. */
export const nothing: Node = { kind: 'alternatives', options: [] }

const encoder = new TextEncoder()

export function byteClass(bytes: Uint8Array): Node {
  return bytes.includes(1) ? { kind: 'class', bytes } : nothing
}

/** The text's UTF-8 bytes. */
export function literal(text: string): Node {
  return words([text])
}

/** One of the texts. */
export function words(texts: Iterable<string>): Node {
  const sorted = [...new Set(texts)].map(text => encoder.encode(text)).sort(Buffer.compare)
  if (sorted.length === 1 && sorted[0].length === 0) return empty
  return sorted.length === 0 ? nothing : { kind: 'words', words: sorted, from: 0, to: sorted.length, depth: 0 }
}

/** One after the other. Neighbours that can each be spelled in only one way become one literal. */
export function sequence(...parts: readonly Node[]): Node {
  const kept: Node[] = []
  let spelled: number[] = []
  const finishWord = () => {
    if (spelled.length > 0) kept.push(toWord(Uint8Array.from(spelled)))
    spelled = []
  }
  for (const part of parts.flatMap(part => (part.kind === 'sequence' ? part.parts : [part]))) {
    if (part === nothing) return nothing
    const spelling = spellingOf(part)
    if (spelling) {
      spelled.push(...spelling)
      continue
    }
    finishWord()
    kept.push(part)
  }
  finishWord()
  return kept.length === 1 ? kept[0] : kept.length === 0 ? empty : { kind: 'sequence', parts: kept }
}

function toWord(word: Uint8Array): Words {
  return { kind: 'words', words: [word], from: 0, to: 1, depth: 0 }
}

/** The only bytes that match the node, or null. */
function spellingOf(node: Node): Iterable<number> | null {
  if (node.kind === 'words') return node.words.length === 1 ? node.words[0] : null
  if (node.kind !== 'class') return null
  const first = node.bytes.indexOf(1)
  return first === node.bytes.lastIndexOf(1) ? [first] : null
}

/** Any of the options; classes of one byte become one. */
export function alternatives(...nodes: readonly Node[]): Node {
  const options = new Set(nodes)
  options.delete(nothing)
  const classes = [...options].filter(node => node.kind === 'class')
  if (classes.length > 1) {
    for (const node of classes) options.delete(node)
    options.add(unite(classes))
  }
  return options.size === 1
    ? [...options][0]
    : options.size === 0
      ? nothing
      : { kind: 'alternatives', options: [...options] }
}

function unite(classes: readonly ByteClass[]): Node {
  return byteClass(Uint8Array.from({ length: 256 }, (_, byte) => (classes.some(({ bytes }) => bytes[byte]) ? 1 : 0)))
}

export function optional(node: Node): Node {
  return alternatives(empty, node)
}

/** The node `min` to `max` times. Counts cost nothing however large, and a repetition of a repetition becomes one if it can. */
export function repeat(node: Node, min: number, max: number | null): Node {
  if (max === 0 || node === empty) return empty
  if (node === nothing) return min === 0 ? empty : nothing
  if (min === 1 && max === 1) return node
  if (node.kind === 'repeat' && hasNoGaps(node, min, max)) {
    return repeat(node.body, node.min * min, node.max === null || max === null ? null : node.max * max)
  }
  return { kind: 'repeat', body: node, min, max }
}

/** Whether the inner counts that the outer count allows make up one unbroken range. */
function hasNoGaps(inner: Repeat, min: number, max: number | null): boolean {
  if (min === max || inner.min <= 1) return true
  // the ranges of n and of n + 1 rounds must touch, and the gap is widest for the smallest n
  return min > 0 && (inner.max === null || min * inner.max + 1 >= (min + 1) * inner.min)
}

/** A rule whose body comes later, or that keeps a body in one piece when it becomes part of a sequence. */
export function createRule(name: string, body: Node = nothing): Rule {
  return { kind: 'rule', name, body }
}
