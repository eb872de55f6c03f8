/** What must hold of a grammar before an automaton runs it, and what the automaton needs to know of its nodes. */
import { ConstraintError } from './constraint-error.ts'
import type { Node, Rule } from './grammar.ts'
import type { CompileBudget } from './limits.ts'

export interface CheckedGrammar {
  readonly root: Node
  /** Nodes that the empty text matches. */
  readonly nullable: ReadonlySet<Node>
  /** Nodes that no finite text matches: entering one would lead nowhere. */
  readonly dead: ReadonlySet<Node>
  /** For each byte the number of its group: bytes that no node of the grammar tells apart. */
  readonly groups: Uint8Array
  readonly groupCount: number
}

/** Throws a ConstraintError for a grammar that matches nothing, or that has a rule beginning with itself. */
export function checkGrammar(root: Node, budget: CompileBudget): CheckedGrammar {
  const nodes = collectNodes(root, budget)
  const nullable = findNullable(nodes, budget)
  refuseLeftRecursion(nodes, nullable)
  const dead = findDead(nodes, budget)
  if (dead.has(root)) throw new ConstraintError([], 'cannot be met by any text')
  return { root, nullable, dead, ...groupBytes(nodes) }
}

function childrenOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case 'sequence':
      return node.parts
    case 'alternatives':
      return node.options
    case 'repeat':
    case 'rule':
      return [node.body]
    default:
      return []
  }
}

/** Every node once, children after the parent that led to them. */
function collectNodes(root: Node, budget: CompileBudget): Node[] {
  const nodes = new Set([root])
  for (const node of nodes) {
    budget.spend(1)
    for (const child of childrenOf(node)) nodes.add(child)
  }
  return [...nodes]
}

function findNullable(nodes: readonly Node[], budget: CompileBudget): Set<Node> {
  return closeOver(nodes, budget, (node, nullable) => {
    switch (node.kind) {
      case 'class':
        return false
      case 'words':
        return node.words[node.from].length === node.depth
      case 'sequence':
        return node.parts.every(part => nullable.has(part))
      case 'alternatives':
        return node.options.some(option => nullable.has(option))
      case 'repeat':
        return node.min === 0 || nullable.has(node.body)
      case 'rule':
        return nullable.has(node.body)
    }
  })
}

function findDead(nodes: readonly Node[], budget: CompileBudget): Set<Node> {
  const alive = closeOver(nodes, budget, (node, alive) => {
    switch (node.kind) {
      case 'class':
      case 'words':
        return true
      case 'sequence':
        return node.parts.every(part => alive.has(part))
      case 'alternatives':
        return node.options.some(option => alive.has(option))
      case 'repeat':
        return node.min === 0 || alive.has(node.body)
      case 'rule':
        return alive.has(node.body)
    }
  })
  return new Set(nodes.filter(node => !alive.has(node)))
}

/** The smallest set of nodes that the test adds up to, from the leaves on; a node is looked at again when a child has joined. */
function closeOver(
  nodes: readonly Node[],
  budget: CompileBudget,
  belongs: (node: Node, found: ReadonlySet<Node>) => boolean,
): Set<Node> {
  const parents = new Map<Node, Node[]>()
  for (const node of nodes) {
    for (const child of childrenOf(node)) {
      const known = parents.get(child)
      if (known) known.push(node)
      else parents.set(child, [node])
    }
  }
  const found = new Set<Node>()
  const waiting = [...nodes]
  while (waiting.length > 0) {
    const node = waiting.pop()!
    budget.spend(0)
    if (found.has(node) || !belongs(node, found)) continue
    found.add(node)
    waiting.push(...(parents.get(node) ?? []))
  }
  return found
}

/** A rule that can come to itself without reading a byte would be entered for ever. */
function refuseLeftRecursion(nodes: readonly Node[], nullable: ReadonlySet<Node>): void {
  const beginnings = (node: Node): readonly Node[] => {
    if (node.kind !== 'sequence') return childrenOf(node)
    const solid = node.parts.findIndex(part => !nullable.has(part))
    return solid < 0 ? node.parts : node.parts.slice(0, solid + 1)
  }
  const done = new Set<Node>()
  for (const start of nodes) {
    const path = done.has(start) ? [] : [{ node: start, children: beginnings(start), next: 0 }]
    const onPath = new Set([start])
    while (path.length > 0) {
      const top = path[path.length - 1]
      const child = top.children[top.next++]
      if (!child) {
        path.pop()
        onPath.delete(top.node)
        done.add(top.node)
      } else if (onPath.has(child)) {
        const cycle = path.slice(path.findIndex(({ node }) => node === child)).map(({ node }) => node)
        const rule = cycle.find((node): node is Rule => node.kind === 'rule')
        throw new ConstraintError([], `${rule?.name ?? 'a rule'} begins with itself: left recursion cannot be followed`)
      } else if (!done.has(child)) {
        path.push({ node: child, children: beginnings(child), next: 0 })
        onPath.add(child)
      }
    }
  }
}

/** Splits the 256 bytes into as few groups as the grammar's leaves allow. */
function groupBytes(nodes: readonly Node[]): Pick<CheckedGrammar, 'groups' | 'groupCount'> {
  const groups = new Uint8Array(256)
  let groupCount = 1
  const split = (isIn: (byte: number) => boolean) => {
    const numbers = new Map<number, number>()
    for (let byte = 0; byte < 256; byte++) {
      const key = groups[byte] * 2 + (isIn(byte) ? 1 : 0)
      groups[byte] = numbers.get(key) ?? numbers.set(key, numbers.size).size - 1
    }
    groupCount = numbers.size
  }
  for (const bytes of new Set(nodes.filter(node => node.kind === 'class').map(node => node.bytes))) {
    split(byte => bytes[byte] === 1)
  }
  const spelled = new Set<number>()
  for (const node of nodes) {
    if (node.kind === 'words') for (const word of node.words) for (const byte of word) spelled.add(byte)
  }
  for (const byte of spelled) split(other => other === byte)
  return { groups, groupCount }
}
