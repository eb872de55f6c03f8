import { expectTypeOf, test } from 'vitest'
import type { Handler, Handlers, OperationId } from '../../src/spec/handler.ts'

// These are checked by the compiler (npm run check:types): a line below "@ts-expect-error" must not compile.

test('a handlers map that lacks an operation does not compile', () => {
  const partial = {} as Omit<Handlers, 'getHealth'>
  // @ts-expect-error: getHealth is missing
  const handlers: Handlers = partial
  expectTypeOf(handlers).toHaveProperty('getHealth')
})

test('a handler that answers an undeclared status does not compile', () => {
  // @ts-expect-error: getHealth declares no 404
  const handler: Handler<'getHealth'> = async () => ({ status: 404, body: { status: 'ok' } })
  expectTypeOf(handler).toBeFunction()
})

test('a handler whose body breaks the contract does not compile', () => {
  // @ts-expect-error: num_deleted is a number
  const handler: Handler<'deleteScorer'> = async () => ({ status: 200, body: { num_deleted: '1' } })
  expectTypeOf(handler).toBeFunction()
})

test('deliveries are no operation that this server handles', () => {
  expectTypeOf<'automationDelivery'>().not.toExtend<OperationId>()
})
