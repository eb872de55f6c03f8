/**
 * What the corpus never shows, so that the quality test can ask for it: a fixed tenth of all names, word triples and sums,
 * chosen by a hash of the text itself.
 */

const HELD_OUT_SHARE = 0.1

/** FNV-1a, 32 bits. */
function toHash(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  hash ^= hash >>> 15
  return Math.imul(hash, 0x2c1b3c6d) >>> 0
}

/** True for the texts that belong to the test alone. */
export const isHeldOut = (text: string) => toHash(text) / 2 ** 32 < HELD_OUT_SHARE
