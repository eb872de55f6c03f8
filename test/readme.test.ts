import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { describeSettings } from '../src/config.ts'

const readme = readFileSync(`${import.meta.dirname}/../README.md`, 'utf8')
const scripts = JSON.parse(readFileSync(`${import.meta.dirname}/../package.json`, 'utf8')).scripts as Record<
  string,
  string
>
const dependencies = JSON.parse(readFileSync(`${import.meta.dirname}/../package.json`, 'utf8')).dependencies as Record<
  string,
  string
>

test('the README lists every setting with its default and meaning, and no other', () => {
  const rows = readme.split('<!-- settings -->')[1]!.split('<!-- /settings -->')[0]!.trim().split('\n').slice(2)
  const expected = describeSettings().map(
    row => `| \`${row.variable}\` | ${row.default && `\`${row.default}\``} | ${row.meaning} |`,
  )
  expect(rows).toEqual(expected)
})

test('the README names only scripts that exist', () => {
  const named = [...readme.matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name!)
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter(name => !(name in scripts))).toEqual([])
})

test('the README says why each runtime dependency is there', () => {
  const table = readme.split('## Why each runtime dependency is there')[1]!.split('\n## ')[0]!
  const listed = [...table.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, names]) => names!.trim().split(', '))
  expect(listed.filter(name => name !== 'package' && !name.startsWith('-')).sort()).toEqual(
    Object.keys(dependencies).sort(),
  )
})
