import type { Reply, TestServer } from './start.ts'

export interface Upload {
  files: Record<string, string>
  /** Sent as the part `version`; undefined: the part is left out. */
  version?: unknown
  key?: string
}

/** Sends files as one artifact version, with the form as stock clients make it. `place` is <entity>/<project>/<name>. */
export async function uploadVersion(
  server: TestServer,
  place: string,
  { files, version = {}, key }: Upload,
): Promise<Reply> {
  const form = new FormData()
  for (const [path, content] of Object.entries(files)) form.append('files', new Blob([content]), path)
  if (version !== null) form.append('version', new Blob([JSON.stringify(version)], { type: 'application/json' }))
  return server.call(`/v1/preview/artifacts/${place}/versions`, { body: form, ...(key ? { key } : {}) })
}

const BOUNDARY = 'the-boundary'

export interface Part {
  name: string
  fileName?: string
  type?: string
  content: string
}

/** A form written by hand, for what stock clients never send. */
export async function sendForm(
  server: TestServer,
  place: string,
  parts: Part[],
  end = `--${BOUNDARY}--\r\n`,
): Promise<Reply> {
  const body = parts.map(({ name, fileName, type, content }) => {
    const file = fileName === undefined ? '' : `; filename="${fileName}"`
    const media = type ? `content-type: ${type}\r\n` : ''
    return `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"${file}\r\n${media}\r\n${content}\r\n`
  })
  return server.call(`/v1/preview/artifacts/${place}/versions`, {
    body: Buffer.from(body.join('') + end, 'latin1'),
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
  })
}
