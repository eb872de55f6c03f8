// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of payloads are written like that
/** A payload with every kind of variable, and what is to become of it. */
import type { Secrets } from './delivery-endpoints.ts'

/** Values that break a body which is not put together as JSON, and that name variables themselves. */
const AWKWARD = 'a "quote", a \\ and\na line, ${alias} $ACCESS_TOKEN $$ ünï 🚂 </script> \u2028 \u0001'

export const METADATA = {
  text: AWKWARD,
  number: -0.5,
  flag: false,
  list: [1, { a: '$tag' }, AWKWARD],
  object: { inner: 'hidden', '"': null },
  'any key': 'spaced',
  empty: '',
}

export function fullPayload({ signing }: Pick<Secrets, 'signing'>) {
  return {
    whole: {
      text: '$artifact_metadata.text',
      number: '${artifact_metadata.number}',
      flag: '$artifact_metadata.flag',
      list: '${artifact_metadata.list}',
      object: '${artifact_metadata.object}',
      spaced: '${artifact_metadata.any key}',
      empty: '$artifact_metadata.empty',
    },
    /** Nothing below the top level, nothing that objects have by nature, nothing of another event. */
    nothing: [
      ...['${artifact_metadata.object.inner}', '${artifact_metadata.no such key}', '$artifact_metadata.constructor'],
      ...['$tag', '<$tag>', '$metric_value', '$run_name'],
    ],
    within: [
      'of $artifact_metadata.number and $artifact_metadata.flag: $artifact_metadata.list',
      '<${artifact_metadata.text}>',
      '${alias}${alias}-$alias.$$alias $5 $',
    ],
    names: {
      ...{ project: '$project_name', entity: '$entity_name', event: '$event_type', author: '$event_author' },
      ...{ alias: '$alias', collection: '$artifact_collection_name', version: '$artifact_version_string' },
    },
    version: '$artifact_version',
    secrets: ['$ACCESS_TOKEN', `$${signing.name}`, `\${${signing.name}} and $ACCESS_TOKEN!`],
    kept: [7, null, true, '', {}, [], 0.25],
    '${alias}': { $tag: 'keys are left as they are' },
  }
}

export interface Values {
  alias: string
  secrets: Secrets
  names: Record<'project' | 'entity' | 'event' | 'author' | 'alias' | 'collection' | 'version', string>
}

/** What `fullPayload` is sent as, but for `version`. */
export function expectedBody({ alias, secrets: { token, signing }, names }: Values) {
  const { text, number, flag, list, object, empty } = METADATA
  return {
    whole: { text, number, flag, list, object, spaced: METADATA['any key'], empty },
    nothing: ['', '', '', '', '<>', '', ''],
    within: [`of -0.5 and false: ${JSON.stringify(list)}`, `<${AWKWARD}>`, `${alias}${alias}-${alias}.$alias $5 $`],
    names,
    secrets: [token.value, signing.value, `${signing.value} and ${token.value}!`],
    kept: [7, null, true, '', {}, [], 0.25],
    '${alias}': { $tag: 'keys are left as they are' },
  }
}
