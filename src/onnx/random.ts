/**
 * Seeded random numbers that are the same on every machine. @see https://prng.di.unimi.it (splitmix64, xoshiro128**)
 */

const MASK_64 = (1n << 64n) - 1n
const GOLDEN_GAMMA = 0x9e3779b97f4a7c15n

function* splitmix64(seed: bigint): Generator<bigint, never> {
  let state = seed & MASK_64
  while (true) {
    state = (state + GOLDEN_GAMMA) & MASK_64
    let word = state
    word = ((word ^ (word >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK_64
    word = ((word ^ (word >> 27n)) * 0x94d049bb133111ebn) & MASK_64
    yield word ^ (word >> 31n)
  }
}

const rotateLeft = (word: number, bits: number) => (word << bits) | (word >>> (32 - bits))

/**
 * Uniform numbers in [0, 1) with 32 random bits each. Streams of one seed are independent of each other.
 * `seed` may be any finite number; its fraction is dropped.
 */
export function createRandom(seed: number, stream = 0): () => number {
  const seeds = splitmix64(BigInt(Math.trunc(seed)))
  const mixed = splitmix64(seeds.next().value ^ (BigInt(stream) * GOLDEN_GAMMA))
  const [first, second] = [mixed.next().value, mixed.next().value]
  let a = Number(first & 0xffffffffn) | 0
  let b = Number(first >> 32n) | 0
  let c = Number(second & 0xffffffffn) | 0
  let d = Number(second >> 32n) | 0
  return () => {
    const result = Math.imul(rotateLeft(Math.imul(b, 5), 7), 9)
    const shifted = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = rotateLeft(d, 11)
    return (result >>> 0) / 2 ** 32
  }
}

/** A seed for those who name none. */
export function randomSeed(): number {
  return Math.floor(Math.random() * 2 ** 48)
}
