/** Sends one job several times, one after the other. A process of its own, so that what it costs delays nobody's clock. */
import { openAsBlob } from 'node:fs'

const { JOB_URL = '', API_KEY, JOB_FILE = '', JOBS } = process.env
const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
for (let sent = 0; sent < Number(JOBS); sent++) {
  const body = await openAsBlob(JOB_FILE, { type: 'application/json' })
  const response = await fetch(JOB_URL, { method: 'POST', headers, body })
  if (!response.ok) throw new Error(`A large job was answered ${response.status}: ${await response.text()}`)
  await response.text()
}
