import type { Readable } from 'node:stream'

export interface StoredContent {
  /** Hex digest, which is the content's name. */
  sha256: string
  /** In bytes. */
  size: number
}

/** The artifact port: contents by their SHA-256. What refers to a content is the database's business. */
export interface ArtifactStore {
  /** Stores a stream durably before it resolves; the same content twice is stored once. */
  put(content: AsyncIterable<Uint8Array>): Promise<StoredContent>
  /** Reads a content, or the bytes start to end (inclusive) of it. Throws when it is not there. */
  open(sha256: string, range?: { start: number; end: number }): Readable
  has(sha256: string): Promise<boolean>
  /** Puts a content at a path of the local disk, for an engine to read. */
  checkout(sha256: string, file: string): Promise<void>
  delete(sha256: string): Promise<void>
  /** Resolves when contents can be written and read back, throws the reason when not. */
  check(): Promise<void>
}
