/** Text for XML and HTML. */

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

const NOT_IN_XML = /(?![\t\n\r])\p{Cc}|[\ufffe\uffff]|\p{Surrogate}/gu

/** Safe as text and within quotes. Characters that XML cannot hold are replaced. */
export function escapeMarkup(text: string): string {
  return text.replace(NOT_IN_XML, '\ufffd').replace(/[&<>"']/g, character => ENTITIES[character]!)
}
