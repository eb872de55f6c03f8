/** Header fields of replies by the grammar of RFC 9110. What is wrong with them, by name; fields that are not known here are left alone. */

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const QUOTED = '"(?:[\\t \\x21\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]|\\\\[\\t \\x21-\\x7e\\x80-\\xff])*"'
const PARAMETER = `${TOKEN}[ \\t]*=[ \\t]*(?:${TOKEN}|${QUOTED})`
const CHALLENGE = `${TOKEN}(?: +(?:${PARAMETER}(?:[ \\t]*,[ \\t]*${PARAMETER})*|[A-Za-z0-9._~+/-]+=*))?`
const listOf = (item: string) => new RegExp(`^${item}(?:[ \\t]*,[ \\t]*${item})*$`)

/** Section 5.6.7: the one form that senders may write. */
const HTTP_DATE =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/

const isHttpDate = (text: string): boolean => HTTP_DATE.test(text) && new Date(text).toUTCString() === text
const isDigits = (text: string): boolean => /^\d+$/.test(text)
const matches =
  (pattern: RegExp) =>
  (text: string): boolean =>
    pattern.test(text)

/** By name: what the value must be, and whether it is. */
const RULES: Readonly<Record<string, [expected: string, holds: (text: string) => boolean]>> = {
  date: ['an HTTP date', isHttpDate],
  'last-modified': ['an HTTP date', isHttpDate],
  'content-length': ['one number of digits', isDigits],
  'content-type': ['one media type', matches(new RegExp(`^${TOKEN}/${TOKEN}(?:[ \\t]*;[ \\t]*${PARAMETER})*$`))],
  allow: ['a list of methods', text => text === '' || listOf(TOKEN).test(text)],
  vary: ['a list of names', text => text === '*' || listOf(TOKEN).test(text)],
  'retry-after': ['seconds or an HTTP date', text => isDigits(text) || isHttpDate(text)],
  'www-authenticate': ['a list of challenges, each with a scheme', matches(listOf(CHALLENGE))],
  etag: ['an entity tag in quotes', matches(/^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/)],
  location: ['a URI', matches(/^(?:[\w\-.~:/?#[\]@!$&'()*+,;=]|%[0-9a-fA-F]{2})+$/)],
  'cache-control': ['a list of directives', matches(listOf(`${TOKEN}(?:=(?:${TOKEN}|${QUOTED}))?`))],
  'content-range': ['a range', matches(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+ (?:\d+-\d+\/(?:\d+|\*)|\*\/\d+)$/)],
}

/** Names in lower case. */
export function findHeaderFaults(
  headers: Readonly<Record<string, string | undefined>>,
): { name: string; message: string }[] {
  return Object.entries(RULES).flatMap(([name, [expected, holds]]) => {
    const value = headers[name]
    return value === undefined || holds(value)
      ? []
      : [{ name, message: `the header ${name} is not ${expected}: ${value}` }]
  })
}
