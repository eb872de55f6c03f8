export const MASK = '********'

/** Encoded forms shorter than this, in characters, would be found in any text. */
const LEAST_ENCODED_LENGTH = 4
const SPECIAL = /[.*+?^${}()|[\]\\/-]/g

/** Replaces the values of secrets in texts that somebody else wrote, in every form in which an endpoint may echo them. */
export class Mask {
  #pattern: RegExp | null
  /** Bytes of the longest form. */
  readonly longestBytes: number

  constructor(secrets: readonly string[]) {
    const forms = [...new Set(secrets.filter(Boolean).flatMap(toForms))].sort((one, other) => other.length - one.length)
    this.longestBytes = Math.max(0, ...forms.map(form => Buffer.byteLength(form)))
    this.#pattern =
      forms.length > 0 ? new RegExp(forms.map(form => form.replace(SPECIAL, '\\$&')).join('|'), 'g') : null
  }

  apply(text: string): string {
    return this.#pattern ? text.replace(this.#pattern, MASK) : text
  }

  /**
   * The first `length` bytes as text, masked. `longestBytes` more should be given where there are more: a secret on the border is
   * seen whole then and goes as a whole, so that no part of it is left over.
   */
  applyToStart(bytes: Buffer, length: number): string {
    const start = bytes.toString('utf8', 0, length)
    if (bytes.length <= length || !this.#pattern) return this.apply(start)
    for (const { index, 0: match } of bytes.toString('utf8').matchAll(this.#pattern)) {
      if (index >= start.length) break
      if (index + match.length > start.length) return this.apply(start.slice(0, index))
    }
    return this.apply(start)
  }
}

/** A value as it is, and as it looks inside JSON, HTML, a URL, base64 and hexadecimal digits. */
function toForms(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1)
  const ascii = toAscii(json)
  const twice = JSON.stringify(json).slice(1, -1)
  const inner = [json, json.replaceAll('/', '\\/'), ascii, ascii.replaceAll('/', '\\/'), twice, toHtml(value)]
  const encoded = [
    ...inner,
    ...toUrlForms(value),
    ...[value, json, ascii].flatMap(toBase64Forms),
    Buffer.from(value).toString('hex'),
    Buffer.from(value).toString('hex').toUpperCase(),
  ]
  return [value, ...encoded.filter(form => form.length >= LEAST_ENCODED_LENGTH)]
}

/** JSON as libraries write it that keep to ASCII. */
function toAscii(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function toHtml(value: string): string {
  return value
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

function toUrlForms(value: string): string[] {
  const percent = encodeURIComponent(value.toWellFormed())
  const strict = percent.replace(/[!'()*~]/g, mark => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
  const upper = [percent, strict, percent.replaceAll('%20', '+'), strict.replaceAll('%20', '+')]
  return [...upper, ...upper.map(form => form.replace(/%../g, code => code.toLowerCase()))]
}

const BYTE_BITS = 8
const DIGIT_BITS = 6

/** The digits that a value has within the base64 of a longer text: they depend on where in a group of three bytes it begins. */
function toBase64Forms(value: string): string[] {
  const bytes = Buffer.from(value)
  return [0, 1, 2].flatMap(offset => {
    const digits = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
    const start = Math.ceil((offset * BYTE_BITS) / DIGIT_BITS)
    const own = digits.slice(start, Math.floor(((offset + bytes.length) * BYTE_BITS) / DIGIT_BITS))
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')]
  })
}
