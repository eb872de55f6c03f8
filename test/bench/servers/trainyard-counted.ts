/** Our whole server as `npm start` runs it, which writes how many requests it got to the file COUNTS. */
import { subscribe } from 'node:diagnostics_channel'
import { writeFileSync } from 'node:fs'
import { readSettings } from '../../../src/config.ts'
import { startServer } from '../../../src/serve.ts'

const PERIOD_MS = 100

let requests = 0
let written = -1
subscribe('http.server.request.start', () => {
  requests++
})
const write = () => {
  if (requests !== written) writeFileSync(process.env['COUNTS']!, String(requests))
  written = requests
}
write()
setInterval(write, PERIOD_MS).unref()

const server = await startServer(readSettings(process.env))
process.stderr.write(`${server.url}\n`)
process.once('SIGTERM', () => server.close().then(() => process.exit(0)))
