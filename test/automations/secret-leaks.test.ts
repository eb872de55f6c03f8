import { rm } from 'node:fs/promises'
import pino from 'pino'
import { expect, test } from 'vitest'
import { readFolder } from '../server/read-folder.ts'
import { uploadVersion } from '../server/upload.ts'
import { createWebhook, ended, putSecret, startHookServer, WEBHOOKS } from './hook-server.ts'
import { startReceiver } from './receiver.ts'

const TOKEN = 'tok"en/of+the&webhook~0123456789'
const SHARED = 'shared-Secret\\of=the webhook!9876543210'

/** All ways in which an endpoint may give back what it got. */
function toEchoes(text: string): string[] {
  const bytes = Buffer.from(text)
  return [
    text,
    JSON.stringify(text),
    JSON.stringify(JSON.stringify(text)),
    encodeURIComponent(text),
    encodeURIComponent(text).toLowerCase(),
    new URLSearchParams({ text }).toString(),
    bytes.toString('base64'),
    Buffer.from(`x${text}`).toString('base64'),
    Buffer.from(`xy${text}`).toString('base64url'),
    bytes.toString('hex'),
  ]
}

function toNeedles(secret: string): string[] {
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), Buffer.from(secret).toString('hex')]
}

test('the values of secrets are nowhere: not in the data folder, the log or a reply, though the endpoint echoes them', async () => {
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) })
  const echoed: string[] = []
  const { url, received, close } = await startReceiver(({ headers, body }, response) => {
    const all = [headers.authorization ?? '', body.toString('utf8'), `${TOKEN} ${SHARED}`].flatMap(toEchoes).join('\n')
    echoed.push(all)
    const inHeader = encodeURIComponent(`${TOKEN} ${SHARED}`)
    response.setHeader('x-echo', [`Bearer ${TOKEN}`, inHeader, Buffer.from(TOKEN + SHARED).toString('base64')])
    response.setHeader('location', `/?${TOKEN}`)
    // The end of what is kept lies within a secret.
    const filler = 'z'.repeat(Math.max(0, 64 * 1024 - all.length - 7))
    response.writeHead(received.length % 2 === 0 ? 200 : 500).end(`${all}\n${filler}${TOKEN}${SHARED}`)
  })
  const server = await startHookServer({ parts: { log }, schedule: [0, 0, 0] })
  const replies = [await putSecret(server, 'TOKEN', TOKEN), await putSecret(server, 'SHARED', SHARED)]
  const names = { access_token_secret: 'TOKEN', signing_secret: 'SHARED' }
  const id = await createWebhook(server, url, names)
  const payload = { token: '$ACCESS_TOKEN', inside: 'a $TOKEN and a $SHARED.', list: ['$SHARED', '$alias'] }
  const automation = await server.call('/v1/preview/automations', {
    json: {
      ...{ name: 'leak', enabled: true, webhook_id: id, payload },
      scope: { type: 'project', entity: 'default', project: 'p' },
      event: { type: 'ADD_ARTIFACT_ALIAS', alias_regex: '^best$' },
    },
  })
  await uploadVersion(server, 'default/p/a', { files: { a: 'x' }, version: { aliases: ['best'] } })
  const [delivery] = await ended(server, id)
  expect(received.length).toBeGreaterThan(1)
  // It did get them, and did give them back.
  expect(received[0]!.json).toEqual({
    token: TOKEN,
    inside: `a ${TOKEN} and a ${SHARED}.`,
    list: [SHARED, 'best'],
  })
  for (const needle of [TOKEN, SHARED].flatMap(toNeedles)) expect(echoed[0]).toContain(needle)
  const MASK = '********'
  expect(delivery.body).toEqual({ token: MASK, inside: `a ${MASK} and a ${MASK}.`, list: [MASK, 'best'] })
  expect(delivery.attempts[0].response_body).toContain(MASK)
  expect(delivery.attempts[0].response_body).toMatch(/z$/)

  const tested = await server.call(`${WEBHOOKS}/${id}/test`, { json: { payload } })
  replies.push(
    tested,
    automation,
    await server.call('/v1/preview/automations'),
    await server.call(`/v1/preview/automations/${automation.body.id}/executions`),
    await server.call('/v1/preview/teams/default/secrets'),
    await server.call(`${WEBHOOKS}/${id}/deliveries`),
    await server.call(`${WEBHOOKS}/${id}/deliveries/${delivery.id}/redeliver`, { method: 'POST' }),
    await server.call(`${WEBHOOKS}/${id}`),
    await server.call(WEBHOOKS),
    await server.call('/metrics'),
  )
  expect(replies.map(({ status }) => status)).toEqual(Array(replies.length).fill(200))
  expect(tested.body.body).toContain(MASK)
  await ended(server, id)
  await server.service.log.flush()
  const texts: Record<string, string> = { log: lines.join(''), replies: replies.map(({ text }) => text).join('') }
  texts['folder while the server runs'] = await readFolder(server.dataDir)
  await server.close(true)
  await close()
  texts['folder'] = await readFolder(server.dataDir)
  await rm(server.dataDir, { recursive: true })
  for (const [place, text] of Object.entries(texts)) {
    expect(text.length, place).toBeGreaterThan(1000)
    for (const needle of [TOKEN, SHARED].flatMap(toNeedles))
      expect(text.includes(needle), `${place}: ${needle}`).toBe(false)
  }
  for (const value of [tested.body.body, JSON.stringify(tested.body.headers)]) {
    for (const part of value.match(/[A-Za-z0-9+/_-]{16,}={0,2}/g) ?? []) {
      const decoded = Buffer.from(part, 'base64').toString('latin1')
      expect(decoded).not.toContain(TOKEN)
      expect(decoded).not.toContain(SHARED)
    }
  }
})
