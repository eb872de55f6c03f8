/**
 * Where each part of the bundled document stands in the contract's files, so that whoever meets a JSON pointer into
 * it (in a report of the contract tests, say) gets to the line that was written by hand.
 */
import { readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml'
import { HEADING } from '../spec/heading.ts'
import type { OpenApiDocument } from './document.ts'

/**
 * Files by number, and for each pointer the number of its file and its line, from 1. A heading of a description is
 * `<pointer>#<heading>`.
 */
export interface SpecLines {
  files: string[]
  lines: Record<string, [file: number, line: number]>
}

/** Examples break no rule, so nobody needs to find them. */
const LEFT_OUT = new Set(['example', 'examples'])

/** @throws {Error} when a file cannot be read, with its path. */
export const toSpecLines = async (root: string, bundle: OpenApiDocument): Promise<SpecLines> => {
  const files: string[] = []
  const lines: SpecLines['lines'] = {}
  const note = (pointer: string, file: number, line: number) => {
    lines[pointer] ??= [file, line]
  }

  const walkFile = async (path: string, pointer: string) => {
    const text = await readFile(path, 'utf8')
    const counter = new LineCounter()
    const document = parseDocument(text, { lineCounter: counter })
    const name = relative(root, path)
    if (!files.includes(name)) files.push(name)
    const file = files.indexOf(name)
    const lineAt = (offset: number) => counter.linePos(offset).line

    const walk = async (node: Node | null, at: string): Promise<void> => {
      if (isSeq(node)) {
        for (const [index, item] of (node.items as Node[]).entries()) {
          note(`${at}/${index}`, file, lineAt(item.range?.[0] ?? 0))
          await walk(item, `${at}/${index}`)
        }
      } else if (isMap(node)) {
        for (const { key, value } of node.items) {
          if (!isScalar(key) || LEFT_OUT.has(String(key.value))) continue
          const below = `${at}/${toStep(String(key.value))}`
          if (key.value === '$ref' && isScalar(value)) await follow(String(value.value), at)
          else {
            note(below, file, lineAt(key.range?.[0] ?? 0))
            await walk(value as Node | null, below)
          }
        }
      } else if (isScalar(node) && at.endsWith('/description')) {
        const [start, end] = node.range!
        noteHeadings(text.slice(start, end), start, at)
      }
    }
    const noteHeadings = (text: string, start: number, at: string) => {
      for (const { index, 1: heading, 2: bold } of text.matchAll(HEADING))
        note(`${at}#${heading ?? bold}`, file, lineAt(start + index))
    }
    const follow = async (reference: string, at: string) => {
      const target = toComponentPointer(bundle, at) ?? at
      if (target !== at && lines[target]) return
      await walkFile(join(dirname(path), reference), target)
    }

    note(pointer, file, 1)
    await walk(document.contents as Node | null, pointer)
  }

  await walkFile(join(root, 'spec/openapi.yaml'), '')
  return { files, lines }
}

export const toSpecLinesText = ({ files, lines }: SpecLines): string => {
  const rows = Object.entries(lines).map(([pointer, [file, line]]) => `${JSON.stringify(pointer)}:[${file},${line}]`)
  return `{"files":${JSON.stringify(files)},\n"lines":{\n${rows.join(',\n')}\n}}\n`
}

/**
 * What the bundled document refers to where the files refer to each other; null where the bundle holds the part
 * itself.
 */
const toComponentPointer = (bundle: OpenApiDocument, pointer: string): string | null => {
  const steps = pointer.split('/').slice(1)
  let node: unknown = bundle
  for (const step of steps) node = (node as Record<string, unknown> | undefined)?.[fromStep(step)]
  const reference = (node as { $ref?: unknown } | undefined)?.$ref
  return typeof reference === 'string' && reference.startsWith('#/') ? reference.slice(1) : null
}

const toStep = (step: string) => step.replaceAll('~', '~0').replaceAll('/', '~1')
const fromStep = (step: string) => step.replaceAll('~1', '/').replaceAll('~0', '~')
