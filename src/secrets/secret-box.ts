import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
export const KEY_BYTES = 32
/** NIST SP 800-38D, 8.2: the length that GCM is made for. */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** A value under a master key: base64 of nonce, tag and ciphertext. */
export interface Sealed {
  keyId: string
  sealed: string
}

/** A sealed value that cannot be opened. The message names its place, and nothing of its content. */
export class UnreadableSecretError extends Error {
  override name = 'UnreadableSecretError' as const
}

/**
 * Seals values with the newest of some master keys, and opens them with whichever sealed them (AES-256-GCM).
 * Keys come newest first, as a list or by a function that reads them anew, so that a rotation by another process counts at once.
 */
export class SecretBox {
  #read: () => Buffer[]
  #keys = new Map<string, Buffer>()
  #newest = ''

  /** Throws RangeError where a key is not of 32 bytes, or there is none; and whatever reading them throws. */
  constructor(keys: Buffer[] | (() => Buffer[])) {
    this.#read = typeof keys === 'function' ? keys : () => keys
    this.#refresh()
  }

  /** Of the key that seals. */
  get keyId(): string {
    return this.#newest
  }

  has(keyId: string): boolean {
    if (!this.#keys.has(keyId)) this.#refresh()
    return this.#keys.has(keyId)
  }

  /**
   * `place` (team and name) is authenticated too, so that a sealed value cannot be moved to another secret. Call it within the
   * transaction that stores the value: a rotation may not come in between.
   */
  seal(value: string, place: string): Sealed {
    this.#refresh()
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#keys.get(this.#newest)!, nonce).setAAD(Buffer.from(place))
    const text = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()])
    return { keyId: this.#newest, sealed: Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64') }
  }

  /** Throws UnreadableSecretError where no key of that id is at hand, or the sealed value or its place was changed. */
  open({ keyId, sealed }: Sealed, place: string): string {
    if (!this.has(keyId))
      throw new UnreadableSecretError(`The secret ${place} cannot be read: its master key, ${keyId}, is not at hand`)
    const bytes = Buffer.from(sealed, 'base64')
    const tagEnd = NONCE_BYTES + TAG_BYTES
    try {
      const options = { authTagLength: TAG_BYTES }
      const decipher = createDecipheriv(ALGORITHM, this.#keys.get(keyId)!, bytes.subarray(0, NONCE_BYTES), options)
        .setAAD(Buffer.from(place))
        .setAuthTag(bytes.subarray(NONCE_BYTES, tagEnd))
      return decipher.update(bytes.subarray(tagEnd), undefined, 'utf8') + decipher.final('utf8')
    } catch (error) {
      throw new UnreadableSecretError(`The secret ${place} cannot be read: what is stored was changed`, {
        cause: error,
      })
    }
  }

  /** Earlier keys stay: a row that was read before a rotation may still be waiting to be opened. */
  #refresh(): void {
    const keys = this.#read()
    if (keys.length === 0) throw new RangeError('There is no master key')
    if (keys.some(key => key.length !== KEY_BYTES)) throw new RangeError(`A master key has ${KEY_BYTES} bytes`)
    for (const key of keys) this.#keys.set(toKeyId(key), key)
    this.#newest = toKeyId(keys[0]!)
  }
}

/** Tells keys apart without telling anything of them: the start of their digest. */
export function toKeyId(key: Buffer): string {
  return hash('sha256', key).slice(0, 16)
}
