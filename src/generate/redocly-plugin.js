/**
 * The contract's own lint rules, for `redocly lint`. Plain JavaScript, because the linter loads this file itself.
 * test/spec/lint-rules.test.ts shows each rule failing.
 */

/** Verbs that an operationId may begin with, and the methods that fit each. */
const METHODS_OF_VERB = {
  get: ['get'],
  list: ['get'],
  create: ['post'],
  update: ['patch'],
  delete: ['delete'],
  put: ['put'],
  add: ['put', 'post'],
  log: ['post'],
  cancel: ['post'],
  test: ['post'],
  redeliver: ['post'],
}

/** The operations that anyone may call. */
const PUBLIC_OPERATIONS = ['getHealth', 'getSystemCheck', 'listRouterModels']

/** Every operation can meet these. */
const COMMON_STATUSES = ['200', '429', '500', '503']

/** Every operation with a request body can meet these too. */
const BODY_STATUSES = ['413', '415', '422']

const toVerb = operationId => /^[a-z]+/.exec(operationId ?? '')?.[0] ?? ''

/** True where a schema only states a condition on another schema, and so describes nothing of its own. */
const isCondition = pointer => /\/(if|then|else|not|dependentSchemas)(\/|$)/.test(pointer)

/** The index holds only $refs: what a path, a webhook or a component says stands in a file of its own. */
function indexOnlyRefs() {
  return {
    Root(root, { report, location }) {
      const maps = { paths: root.paths, webhooks: root.webhooks }
      for (const [kind, components] of Object.entries(root.components ?? {})) maps[`components/${kind}`] = components
      for (const [map, entries] of Object.entries(maps)) {
        for (const [name, entry] of Object.entries(entries ?? {})) {
          const keys = Object.keys(entry)
          if (keys.length === 1 && keys[0] === '$ref') continue
          const place = location.child([...map.split('/'), name])
          report({ message: `The index holds only $refs: move ${name} to a file under spec/.`, location: place })
        }
      }
    },
  }
}

function operationIdVerb() {
  return {
    Paths: {
      Operation(operation, { report, location, key }) {
        const methods = METHODS_OF_VERB[toVerb(operation.operationId)]
        const place = location.child('operationId')
        if (!methods) {
          const verbs = Object.keys(METHODS_OF_VERB).join(', ')
          report({ message: `operationId ${operation.operationId} must begin with one of: ${verbs}.`, location: place })
        } else if (!methods.includes(key)) {
          const verb = toVerb(operation.operationId)
          report({ message: `The verb ${verb} goes with ${methods.join(' or ')}, not with ${key}.`, location: place })
        }
      },
    },
  }
}

/** Sentence case: a capital, then lower-case words or acronyms. The verb is that of the operationId. */
function operationSummaryStyle() {
  return {
    Operation(operation, { report, location }) {
      const summary = operation.summary ?? ''
      const place = location.child('summary')
      if (!/^[A-Z][a-z]+( ([a-z][a-z-]*|[A-Z]{2,}s?))+$/.test(summary)) {
        report({
          message: 'A summary is in sentence case, of at least two words, without a full stop.',
          location: place,
        })
      }
    },
    Paths: {
      Operation(operation, { report, location }) {
        const verb = toVerb(operation.operationId)
        if (operation.summary?.split(' ')[0].toLowerCase() === verb) return
        report({ message: `The summary begins with the verb ${verb}.`, location: location.child('summary') })
      },
    },
  }
}

function operationOrigin() {
  return {
    Operation(operation, { report, location }) {
      if (['interface', 'extension'].includes(operation['x-origin'])) return
      report({ message: 'An operation has x-origin: interface or extension.', location: location.key() })
    },
  }
}

/** Either a scheme and a declared 401, or public by name with `security: []`. */
function operationSecurity() {
  return {
    Paths: {
      Operation(operation, { report, location }) {
        const { operationId, security, responses = {} } = operation
        const isPublic = PUBLIC_OPERATIONS.includes(operationId)
        if (isPublic && (security?.length !== 0 || responses['401'])) {
          report({ message: `${operationId} is public: security: [] and no 401.`, location: location.key() })
        }
        const isGuarded = security?.length > 0 && security.every(requirement => Object.keys(requirement).length > 0)
        if (!isPublic && (!isGuarded || !responses['401'])) {
          const rule = 'An operation declares its security and 401, or is public by name'
          report({ message: `${rule} (${PUBLIC_OPERATIONS.join(', ')}).`, location: location.key() })
        }
      },
    },
  }
}

function operationStatuses() {
  return {
    Paths: {
      Operation(operation, { report, location }) {
        const wanted = operation.requestBody ? [...COMMON_STATUSES, ...BODY_STATUSES] : COMMON_STATUSES
        const missing = wanted.filter(status => !operation.responses?.[status])
        if (!missing.length) return
        report({ message: `Not declared: ${missing.join(', ')}.`, location: location.child('responses').key() })
      },
    },
  }
}

/** Bodies have written examples, because the mock answers with them and made-up ones are poor. */
function examplesWritten() {
  return {
    MediaType(mediaType, { report, location }) {
      if (mediaType.example !== undefined || Object.keys(mediaType.examples ?? {}).length) return
      report({ message: 'A body has a written example.', location: location.key() })
    },
  }
}

function requestIdHeader() {
  return {
    Paths: {
      Response(response, { report, location }) {
        if (response.headers?.['x-request-id']) return
        report({ message: 'A response declares the header x-request-id.', location: location.key() })
      },
    },
  }
}

function propertyDescription() {
  return {
    Schema(schema, { report, location, resolve }) {
      if (isCondition(location.pointer)) return
      for (const [name, property] of Object.entries(schema.properties ?? {})) {
        if (property?.description || resolve(property).node?.description) continue
        report({ message: `The property ${name} has no description.`, location: location.child(['properties', name]) })
      }
    },
  }
}

/** Real clients send keys that the contract does not name. */
function requestObjectsOpen() {
  return {
    RequestBody: {
      Schema(schema, { report, location }) {
        if (schema.additionalProperties !== false && schema.unevaluatedProperties !== false) return
        report({ message: 'A request takes unknown keys: no additionalProperties: false.', location: location.key() })
      },
    },
  }
}

/** A response never holds a key that the contract does not name, unless it says so. */
function responseObjectsClosed() {
  return {
    Response: {
      Schema(schema, { report, location }) {
        if (isCondition(location.pointer) || !schema.properties) return
        if (schema.additionalProperties !== undefined || schema.unevaluatedProperties !== undefined) return
        report({
          message: 'An object in a response says additionalProperties: false (or true).',
          location: location.key(),
        })
      },
    },
  }
}

export default function trainyardPlugin() {
  return {
    id: 'trainyard',
    rules: {
      oas3: {
        'index-only-refs': indexOnlyRefs,
        'operation-id-verb': operationIdVerb,
        'operation-summary-style': operationSummaryStyle,
        'operation-origin': operationOrigin,
        'operation-security': operationSecurity,
        'operation-statuses': operationStatuses,
        'examples-written': examplesWritten,
        'request-id-header': requestIdHeader,
        'property-description': propertyDescription,
        'request-objects-open': requestObjectsOpen,
        'response-objects-closed': responseObjectsClosed,
      },
    },
  }
}
