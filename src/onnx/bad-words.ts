/** Texts that must not come, as the token sequences that would write them. */
import { PromptError } from '../inference/engine.ts'

/**
 * Each text's tokens, at the beginning of a text and after a space. Throws PromptError naming a text without tokens.
 */
export function toBadWords(words: readonly string[], tokenizer: { encode(text: string): number[] }): number[][] {
  return words.flatMap((word, index) => {
    const bare = word.trimStart()
    const sequences = [bare, ` ${bare}`].map(text => tokenizer.encode(text))
    if (bare === '' || sequences.some(({ length }) => length === 0)) {
      throw new PromptError(['bad_words', String(index)], 'gives no tokens', 'bad_words')
    }
    return sequences
  })
}
