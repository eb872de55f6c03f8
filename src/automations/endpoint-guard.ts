import { promises as dns, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { buildConnector } from 'undici'
import { SettingError } from '../config.ts'

export type Lookup = (hostname: string) => Promise<LookupAddress[]>

/** All that is given out for use on the Internet (RFC 4291, 2.4): what is translated to IPv4 or left over from it lies outside. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')
/** Public ranges hold one address that a cloud gives its metadata at. */
const METADATA_ADDRESSES = ['168.63.129.16']

/** The host name or address of an endpoint may not be called. */
export class ForbiddenEndpointError extends Error {
  override name = 'ForbiddenEndpointError' as const
}

/**
 * Decides to which addresses deliveries may go: public ones, and the ranges that the deployment allows. The decision is made where a
 * connection is opened, on the very addresses that it is opened to, so that a name cannot stand for another address by then.
 */
export class EndpointGuard {
  #allowed: [ipaddr.IPv4 | ipaddr.IPv6, number][]
  #lookup: Lookup

  /** Throws a SettingError where a range is not a CIDR. */
  constructor(allow: readonly string[], lookup: Lookup = hostname => dns.lookup(hostname, { all: true })) {
    this.#allowed = allow.map(toRange)
    this.#lookup = lookup
  }

  /** Whether a delivery may go to an IP address, written in any of its forms. */
  allows(address: string): boolean {
    if (!ipaddr.isValid(address)) return false
    // An IPv4 address mapped into IPv6 is the address that it maps.
    const parsed = ipaddr.process(address)
    if (this.#allowed.some(([range, bits]) => range.kind() === parsed.kind() && parsed.match(range, bits))) return true
    if (parsed.range() !== 'unicast' || METADATA_ADDRESSES.includes(parsed.toString())) return false
    return parsed.kind() === 'ipv4' || (parsed as ipaddr.IPv6).match(GLOBAL_UNICAST)
  }

  /** Whether a URL's host is an address that is not allowed. Of other hosts only a connection can tell, except of `localhost`. */
  isForbidden({ hostname }: URL): boolean {
    const address = toAddress(hostname)
    if (address) return !this.allows(address)
    return /(^|\.)localhost\.?$/.test(hostname) && !this.allows('127.0.0.1') && !this.allows('::1')
  }

  /** Opens connections, for undici. TLS certificates are checked, whatever the environment says. */
  createConnector(timeoutMs: number): buildConnector.connector {
    const connect = buildConnector({
      lookup: this.#guardedLookup,
      timeout: timeoutMs,
      allowH2: false,
      rejectUnauthorized: true,
    })
    return (options, callback) => {
      // Nothing is looked up for a literal address.
      const address = toAddress(options.hostname)
      if (address && !this.allows(address)) callback(toForbidden(options.hostname), null)
      else connect(options, callback)
    }
  }

  /** Of the addresses of a name only the allowed ones are used. */
  #guardedLookup: LookupFunction = (hostname, options, callback) => {
    this.#lookup(hostname).then(
      addresses => {
        const allowed = addresses.filter(({ address }) => this.allows(address))
        if (allowed.length === 0) callback(toForbidden(hostname), [])
        else if (options.all) callback(null, allowed)
        else callback(null, allowed[0]!.address, allowed[0]!.family)
      },
      error => callback(error, []),
    )
  }
}

/** Says nothing of the addresses: they may be those of a network that the user cannot see into. */
function toForbidden(hostname: string): ForbiddenEndpointError {
  return new ForbiddenEndpointError(`${hostname} does not have a public address`)
}

/** The address that a URL's host is, without brackets, or null for a name. */
function toAddress(hostname: string): string | null {
  const bare = hostname.replace(/^\[|\]$/g, '')
  return isIP(bare) ? bare : null
}

function toRange(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (!ipaddr.isValidCIDR(text)) {
    throw new SettingError(`WEBHOOK_ALLOW must be address ranges such as 10.0.0.0/8, not "${text}"`)
  }
  return ipaddr.parseCIDR(text)
}
