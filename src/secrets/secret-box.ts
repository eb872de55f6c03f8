import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
/** NIST SP 800-38D, 8.2: the length that GCM is made for. */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** A value under a master key: base64 of nonce, tag and ciphertext. */
export interface Sealed {
  keyId: string
  sealed: string
}

/** Seals values with the newest of some master keys, and opens them with whichever sealed them (AES-256-GCM). */
export class SecretBox {
  #keys: Map<string, Buffer>
  readonly keyId: string

  /** Keys of 32 bytes, the newest first. Throws RangeError where one has another length, or there is none. */
  constructor(keys: Buffer[]) {
    if (keys.length === 0) throw new RangeError('There is no master key')
    if (keys.some(key => key.length !== KEY_BYTES)) throw new RangeError(`A master key has ${KEY_BYTES} bytes`)
    this.#keys = new Map(keys.map(key => [toKeyId(key), key]))
    this.keyId = toKeyId(keys[0]!)
  }

  /** `place` (team and name) is authenticated too, so that a sealed value cannot be moved to another secret. */
  seal(value: string, place: string): Sealed {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#keys.get(this.keyId)!, nonce).setAAD(Buffer.from(place))
    const text = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()])
    return { keyId: this.keyId, sealed: Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64') }
  }

  /** Throws where no key of that id is at hand, or the sealed value or its place was changed. */
  open({ keyId, sealed }: Sealed, place: string): string {
    const key = this.#keys.get(keyId)
    if (!key) throw new Error(`The master key ${keyId} is not at hand`)
    const bytes = Buffer.from(sealed, 'base64')
    const tagEnd = NONCE_BYTES + TAG_BYTES
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES))
      .setAAD(Buffer.from(place))
      .setAuthTag(bytes.subarray(NONCE_BYTES, tagEnd))
    return decipher.update(bytes.subarray(tagEnd), undefined, 'utf8') + decipher.final('utf8')
  }
}

/** Tells keys apart without telling anything of them: the start of their digest. */
function toKeyId(key: Buffer): string {
  return hash('sha256', key).slice(0, 16)
}
