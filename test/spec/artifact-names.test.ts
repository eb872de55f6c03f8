import { describe, expect, test } from 'vitest'
import { createTest } from '../../src/spec/compile-schema.ts'
import { operationById } from '../../src/spec/document.ts'

const { components } = operationById('createArtifactVersion')
const component = (name: string) => createTest({ $ref: `#/components/schemas/${name}` }, components)

describe('paths of artifact files', () => {
  const isPath = component('ArtifactFilePath')

  test.each(['a', 'train.jsonl', 'adapter/config.json', 'a/b/c', '.hidden', '..a', 'a..', '...', 'ä ö/ü', 'a:b'])(
    '%j is one',
    path => {
      expect(isPath(path)).toBe(true)
    },
  )

  test.each([
    '',
    '.',
    '..',
    '/a',
    'a/',
    'a//b',
    '../a',
    'a/../b',
    'a/..',
    './a',
    'a/./b',
    'a\\b',
    'a\nb',
    '\u0000',
    'a'.repeat(513),
  ])('%j is none', path => {
    expect(isPath(path)).toBe(false)
  })
})

describe('aliases', () => {
  const isAlias = component('ArtifactAlias')

  test.each(['latest', 'step3', 'v', 'v1a', 'V1', 'production', 'with space'])('%j is one', alias => {
    expect(isAlias(alias)).toBe(true)
  })

  test.each(['v0', 'v12', '', '.', '..', 'a/b', 'a:b', 'a?b', ' a', 'a ', 'a'.repeat(129)])('%j is none', alias => {
    expect(isAlias(alias)).toBe(false)
  })

  test('are checked in a new version, whose other fields may be left out', () => {
    const isNewVersion = component('NewArtifactVersion')
    expect(isNewVersion({})).toBe(true)
    expect(isNewVersion({ type: 'lora', metadata: { a: [1] }, aliases: ['best'], tags: ['x'], more: 1 })).toBe(true)
    expect(isNewVersion({ aliases: ['v3'] })).toBe(false)
    expect(isNewVersion({ tags: ['a/b'] })).toBe(false)
    expect(isNewVersion({ metadata: [] })).toBe(false)
    expect(isNewVersion({ type: '' })).toBe(false)
  })
})
