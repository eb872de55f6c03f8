import type { Random } from '../random.ts'

const words = (text: string) => text.trim().split(/\s+/)

export const NAMES = words(`
  Ada Bob Cleo Dan Eve Finn Gus Hana Ivan Jo Kim Leo Mia Nora Omar Pia Rosa Sam Tara Uma Vera Walt Zoe Alice Ben Carl
  Diana Emma Frank Grace Henry Iris Jack Kate Liam Mary Nick Olga Paul Ruth Tom Anna David John Laura Maria Max Peter`)

export const THINGS = words(`
  apple river stone cloud tiger piano lamp forest bridge cookie garden rocket ball cup car hat house door chair table
  book box bag shirt shoe flower leaf boat train kite pencil clock bottle spoon key coat star tree bird fish`)

export const COLOURS = words('red green blue yellow black white orange purple pink brown grey')

export const ADJECTIVES = words(
  'big small old new fast slow hot cold happy sad quiet loud bright soft tall long clean warm',
)

export const VERBS = words('run jump sing dance read write swim walk sleep eat play cook draw climb fly')

export const TOPICS = words(`
  history music physics chess football cooking poetry taxes gravity economics philosophy biology chemistry politics
  dinosaurs volcanoes computers programming robots planets medicine art opera stocks insurance gardening marriage
  astronomy mathematics geography language weather traffic electricity democracy religion evolution energy money
  python javascript homework pizza coffee dinner movies games love life time people work school war peace health
  travel cars football news internet software data science art literature chess dreams happiness friendship`)

const ONSETS = words('b c d f g h j k l m n p r s t v w z bl br ch cl cr dr fl fr gl gr pl pr sh sk sl sn sp st th tr')
const VOWELS = words('a e i o u a e i o u ai ea ee oo ou')
const CODAS = ['', '', '', ...words('b d g k l m n p r s t x ck ld mp nd nt rn rt sh st')]

/** A word that nobody knows, so that copying has to be learnt as copying. */
export function inventWord(random: Random): string {
  const syllables = random.between(1, 2)
  return Array.from({ length: syllables }, () => random.pick(ONSETS) + random.pick(VOWELS) + random.pick(CODAS)).join(
    '',
  )
}

/** One word for copying: nearly always a known one, so that it is a token of its own. */
export function pickWord(random: Random): string {
  const kind = random.next()
  if (kind < 0.4) return random.pick(THINGS)
  if (kind < 0.6) return random.pick(COLOURS)
  if (kind < 0.75) return random.pick(ADJECTIVES)
  if (kind < 0.85) return random.pick(VERBS)
  if (kind < 0.92) return random.pick(NAMES)
  if (kind < 0.97) return random.pick(['yes', 'no', 'maybe', 'hello', 'bye'])
  return inventWord(random)
}

export const capitalise = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
