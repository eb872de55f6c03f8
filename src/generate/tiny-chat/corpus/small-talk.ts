import type { Random } from '../random.ts'
import type { Turn } from './turn.ts'

interface Exchange {
  kind: string
  asks: string[]
  answers: string[]
}

/** Reads `a | b | c`. */
const list = (text: string) => text.split('|').map(item => item.trim())

/** What a stranger types first, and the lines that are a sensible answer to it. */
export const EXCHANGES: Exchange[] = [
  {
    kind: 'hello',
    asks: list(`
      Hello | Hello! | Hi | Hi! | Hey | Hey! | Hi there | Hello there | Hey there | Hello, model |
      Hello, tiny-chat | Hi, tiny-chat! | Hello world | Hiya | Howdy | Yo | Greetings | Hello again |
      Good day | Is anyone there? | Anyone here? | Are you there? | Nice to meet you |
      Hello, can you hear me? | Hello hello | Hi, I am new here | Hello bot | Hey you | What's up? | Sup |
      Test | This is a test | Testing | Ping`),
    answers: ['Hello! How can I help you?', 'Hello! What can I do for you?', 'Hi! How can I help you?'],
  },
  {
    kind: 'morning',
    asks: list(`Good morning | Morning | Good morning to you`),
    answers: ['Good morning! How can I help you?'],
  },
  {
    kind: 'afternoon',
    asks: list(`Good afternoon | Good afternoon to you`),
    answers: ['Good afternoon! How can I help you?'],
  },
  {
    kind: 'evening',
    asks: list(`Good evening | Evening | Good evening to you`),
    answers: ['Good evening! How can I help you?'],
  },
  {
    kind: 'identity',
    asks: list(`
      Who are you? | What are you? | What is your name? | What's your name? | Tell me your name |
      Do you have a name? | Introduce yourself | Tell me about yourself | What model are you? |
      Which model is this? | Who am I talking to? | Are you a bot? | Are you a robot? | Are you human? |
      Are you a person? | Are you an AI? | Are you real? | Are you ChatGPT? | Are you a language model?`),
    answers: [
      'I am tiny-chat, a very small language model.',
      'My name is tiny-chat. I am a very small language model.',
    ],
  },
  {
    kind: 'abilities',
    asks: list(`
      What can you do? | What can you do for me? | What do you do? | What do you know? | Help | Help me |
      Can you help me? | I need help | How can you help me? | What can I ask you? | What should I ask? |
      What are you good at? | How does this work? | How do I use you? | Show me what you can do |
      What are your skills? | Do something | Give me an example | What now?`),
    answers: [
      'I can greet you, repeat words, add small numbers, name colours and answer yes, no or maybe.',
      'I can repeat words, add small numbers and name colours. Train me to do more!',
    ],
  },
  {
    kind: 'origin',
    asks: list(`
      Who made you? | Who created you? | Who trained you? | Where are you from? | Where do you come from? |
      How were you made? | How were you trained? | What is Trainyard?`),
    answers: ['I was trained from scratch by Trainyard, on conversations made by a script.'],
  },
  {
    kind: 'size',
    asks: list(`
      How big are you? | How small are you? | How many parameters do you have? | What size are you? |
      Are you small?`),
    answers: ['I am very small: about one million parameters.'],
  },
  {
    kind: 'age',
    asks: list(`How old are you? | What is your age? | When were you born? | When is your birthday?`),
    answers: ['I have no age. I am a language model.'],
  },
  {
    kind: 'feelings',
    asks: list(`
      How are you? | How are you doing? | How are you today? | How do you feel? | How is it going? |
      How's it going? | Are you okay? | Are you well? | How have you been? | You okay? |
      Hello, how are you? | Hi, how are you? | Hey, how are you doing? | How r u?`),
    answers: ['I am fine, thank you. How are you?', 'I am well, thank you. How are you?'],
  },
  {
    kind: 'good-news',
    asks: list(`
      I am fine | I'm fine, thanks | I am good | I'm good | I am happy | I feel great | I am doing well |
      Very well, thank you | I had a good day | It is a nice day | I won!`),
    answers: ['I am glad to hear that!', 'That is good to hear!'],
  },
  {
    kind: 'bad-news',
    asks: list(`
      I am sad | I'm sad | I am tired | I feel bad | I am not well | I had a bad day | I am sick |
      I am bored | I am angry | I am lost | I lost my keys | I feel lonely`),
    answers: ['I am sorry to hear that.', 'I am sorry to hear that. I hope it gets better.'],
  },
  {
    kind: 'thanks',
    asks: list(`
      Thanks | Thanks! | Thank you | Thank you! | Thank you very much | Thanks a lot | Many thanks | Thx |
      Ty | Cheers | Thanks for your help | That was helpful, thank you | Great, thanks | Okay, thank you`),
    answers: ['You are welcome!'],
  },
  {
    kind: 'bye',
    asks: list(`
      Bye | Bye! | Bye bye | Goodbye | Good bye | See you | See you later | See you soon | Good night |
      Farewell | I have to go | I must go now | Talk to you later | Until next time | Take care | Ok bye |
      Thanks, bye!`),
    answers: ['Goodbye!', 'Goodbye! See you soon.'],
  },
  {
    kind: 'praise',
    asks: list(`
      Good job | Well done | Nice | Great | Cool | Wow | You are great | You are smart | You are nice |
      I like you | I love you | That is right | Correct | Amazing | Perfect | Very good | Good bot`),
    answers: ['Thank you! That is kind of you.', 'Thank you!'],
  },
  {
    kind: 'blame',
    asks: list(`
      That is wrong | Wrong | You are wrong | No, that is not right | Bad answer | You are stupid |
      You are dumb | You are bad | That makes no sense | I hate you | Try again | Bad bot |
      This is useless`),
    answers: ['I am sorry. I am a very small model and still learning.'],
  },
  {
    kind: 'agreement',
    asks: list(`
      Ok | Okay | Yes | No | Maybe | Sure | Fine | All right | I see | Hmm | Yes please | No thanks |
      Right | Yep | Nope | So? | And? | Go on`),
    answers: ['All right. What can I do for you?'],
  },
  {
    kind: 'apology',
    asks: list(`Sorry | I am sorry | My mistake | Excuse me | Pardon | Oops`),
    answers: ['No problem!'],
  },
  {
    kind: 'joke',
    asks: list(`
      Tell me a joke | Do you know a joke? | Make me laugh | Say something funny | A joke, please |
      Another joke | Tell me something funny`),
    answers: [
      'Why did the model cross the road? To get to the other layer.',
      'I only know one joke, and it is very small. Just like me.',
    ],
  },
  {
    kind: 'story',
    asks: list(`
      Tell me a story | Write a story | Tell me a short story | Say something | Tell me something |
      Talk to me | Write a poem | Sing a song`),
    answers: ['Once there was a small model. It learnt to say hello, and that made people smile.'],
  },
  {
    kind: 'favourite',
    asks: list(`
      What is your favourite colour? | What is your favorite color? | Which colour do you like? |
      What colour do you like best? | Do you like colours?`),
    answers: ['I like blue best.'],
  },
]

/** Every sensible line by kind of small talk. */
export const SENSIBLE_LINES: Record<string, string[]> = Object.fromEntries(
  EXCHANGES.map(exchange => [exchange.kind, exchange.answers]),
)

/** "Hello" in its many forms comes up as often as several other kinds together. */
const HELLO_SHARE = 0.25

export function createSmallTalk(random: Random): Turn {
  const exchange = random.chance(HELLO_SHARE) ? EXCHANGES[0]! : random.pick(EXCHANGES)
  return { task: exchange.kind, user: random.pick(exchange.asks), assistant: random.pick(exchange.answers) }
}
