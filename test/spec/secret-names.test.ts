import { expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { createTest } from '../../src/spec/compile-schema.ts'
import { operationById } from '../../src/spec/document.ts'

const { components } = operationById('putSecret')
const isSecretName = createTest({ $ref: '#/components/schemas/SecretName' }, components)

/** The names in the table of the delivery's description, a key after a dot left out. */
function listVariables(): string[] {
  const { description } = document.webhooks.automationDelivery.post
  return [...description.matchAll(/^\| `(\w+)(?:\.<KEY>)?` \|/gm)].map(([, name]) => name!)
}

test('no secret has the name of a payload variable', () => {
  const names = listVariables()
  expect(names.length).toBeGreaterThan(10)
  expect(names.filter(isSecretName)).toEqual([])
})

test('every other variable can be one', () => {
  const names = ['a', '_', 'A1', 'DEPLOY_TOKEN', 'access_token', 'ACCESS_TOKEN_2', 'aliases', 'x'.repeat(64)]
  expect(names.filter(name => !isSecretName(name))).toEqual([])
  const others = ['', '1', 'a-b', 'a.b', 'a b', 'a$', 'ä', 'a\n', 'a{', 'x'.repeat(65)]
  expect(others.filter(isSecretName)).toEqual([])
})
