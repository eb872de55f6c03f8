import { LRUCache } from 'lru-cache'
import { ApiError, notFound } from './errors.ts'
import type { Database } from './storage/database.ts'
import { findPrincipal, hashKey, type Principal } from './storage/keys.ts'

/** A key is looked up again after this time, so that one made or taken away by another process counts soon. */
const CACHE_MS = 2000
const CACHE_KEYS = 10_000

export type Scheme = 'bearer' | 'basic'

/** `Authorization` as a scheme and the key it carries (RFC 6750; RFC 7617, whose user name is not checked). Null when it is neither. */
export function parseCredentials(header: string | undefined): { scheme: Scheme; key: string } | null {
  const match = /^(bearer|basic) +(\S+) *$/i.exec(header ?? '')
  if (!match) return null
  const scheme = match[1]!.toLowerCase() as Scheme
  if (scheme === 'bearer') return { scheme, key: match[2]! }
  const pair = Buffer.from(match[2]!, 'base64').toString('utf8')
  const colon = pair.indexOf(':')
  return colon < 0 ? null : { scheme, key: pair.slice(colon + 1) }
}

/** Checks the credentials of requests, and remembers for a moment whom they stand for. */
export class Authenticator {
  #database: Database
  // By the header as it came: hashing the key of every request would cost more than looking it up. It is gone after its time.
  #known = new LRUCache<string, { scheme: Scheme; principal: Principal }>({
    max: CACHE_KEYS,
    ttl: CACHE_MS,
    ttlAutopurge: true,
    ttlResolution: CACHE_MS / 10,
  })
  #forgotten = 0

  constructor(database: Database) {
    this.#database = database
  }

  /** Whose credentials a request has. Throws a 401 that names the schemes an operation takes. */
  async authenticate(header: string | undefined, schemes: readonly Scheme[]): Promise<Principal> {
    const known = header ? this.#known.get(header) : undefined
    if (known && schemes.includes(known.scheme)) return known.principal
    const credentials = parseCredentials(header)
    if (!header || !credentials)
      throw unauthorized(schemes, header ? 'The Authorization header cannot be read' : 'An API key is missing')
    if (!schemes.includes(credentials.scheme))
      throw unauthorized(schemes, `This operation does not take ${credentials.scheme} credentials`)
    const before = this.#forgotten
    const principal = await findPrincipal(this.#database, hashKey(credentials.key))
    if (!principal) throw unauthorized(schemes, 'The API key is not valid')
    // What was read while something changed may be neither the one nor the other.
    if (before === this.#forgotten) this.#known.set(header, { scheme: credentials.scheme, principal })
    return principal
  }

  /** To be called after a key, a membership or a role changed, so that it counts from the next request on. */
  forget(): void {
    this.#forgotten++
    this.#known.clear()
  }
}

function unauthorized(schemes: readonly Scheme[], message: string): ApiError {
  const challenge = schemes.map(scheme => (scheme === 'bearer' ? 'Bearer' : 'Basic realm="trainyard"')).join(', ')
  return new ApiError(401, 'invalid_api_key', message, { headers: { 'www-authenticate': challenge } })
}

/** 403 unless the caller is in the team that a request names, whether or not the team exists. */
export function requireMember(principal: Principal, entity: string): void {
  if (!principal.teams.has(entity)) throw notAMember(entity)
}

export function notAMember(entity: string): ApiError {
  return new ApiError(403, 'not_a_member', `You are not a member of team ${entity}`)
}

/** 403 unless the caller administers the team. */
export function requireTeamAdmin(principal: Principal, entity: string): void {
  requireMember(principal, entity)
  if (principal.teams.get(entity) !== 'admin') throw lowRole(`an admin of team ${entity}`)
}

/** 403 unless the caller administers that project or registry, or the whole team. */
export function requireScopeAdmin(
  principal: Principal,
  { kind, entity, name }: { kind: 'project' | 'registry'; entity: string; name: string },
): void {
  requireMember(principal, entity)
  if (principal.teams.get(entity) === 'admin' || principal.grants.has(`${kind}/${entity}/${name}`)) return
  throw lowRole(`an admin of ${kind} ${name} or of team ${entity}`)
}

function lowRole(needed: string): ApiError {
  return new ApiError(403, 'role_too_low', `Only ${needed} may do this`)
}

/** 404 unless the thing exists and belongs to a team of the caller: the two cases read the same. */
export function requireOwn<Thing extends { entity: string }>(
  principal: Principal,
  thing: Thing | null,
  what: string,
): Thing {
  if (!thing || !principal.teams.has(thing.entity)) throw notFound(what)
  return thing
}
