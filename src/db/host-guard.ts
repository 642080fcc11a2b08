import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction, Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { createNetworkList } from '../kernel/network.ts'

/** Why a host may not be connected to, or that its name is unknown. */
export class HostRefused extends Error {
  readonly code: 'EHOSTREFUSED' | 'ENOTFOUND'

  constructor(reason: string, code: 'EHOSTREFUSED' | 'ENOTFOUND' = 'EHOSTREFUSED') {
    super(reason)
    this.code = code
  }
}

/** Resolves a host to the addresses that may be connected to; rejects with `HostRefused`. */
export type HostGuard = (host: string) => Promise<readonly string[]>

/**
 * Addresses that no database has: unspecified, link-local, multicast, broadcast, and those by which clouds hand out
 * credentials. Link-local holds the usual one of these, 169.254.169.254.
 */
const neverAllowed = [
  '0.0.0.0/8',
  '169.254.0.0/16',
  '100.100.100.200/32',
  '192.0.0.192/32',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  'fe80::/10',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  'ff00::/8',
]

/**
 * The hosts of `entries` are names, `*.` names, addresses or networks such as 10.0.0.0/8; none: every host whose addresses
 * are not among those above, which a list has to name by address or network. Names are resolved here and the caller
 * connects to the result, so that a name cannot lead elsewhere between the check and the connection.
 */
export function createHostGuard(entries: readonly string[], resolve: HostGuard = resolveHost): HostGuard {
  const isNetwork = (entry: string) => isIP(entry.split('/')[0] ?? '') !== 0
  const isListed = createNetworkList(entries.filter(isNetwork))
  const isRefused = createNetworkList(neverAllowed)
  const names = entries.filter((entry) => !isNetwork(entry)).map((entry) => entry.toLowerCase())

  return async (host) => {
    const name = host.toLowerCase().replace(/\.$/, '')
    const isNamed = names.some((entry) =>
      entry.startsWith('*.') ? name.endsWith(entry.slice(1)) : name === entry,
    )
    const mayBeListed = entries.length === 0 || isNamed || entries.some(isNetwork)
    if (!mayBeListed) throw new HostRefused('is not among the hosts that this service may be bound to')
    const addresses = await resolve(host)
    for (const address of addresses) {
      if (isListed(address)) continue
      if (entries.length > 0 && !isNamed)
        throw new HostRefused('is not among the hosts that this service may be bound to')
      if (isRefused(address))
        throw new HostRefused(
          'leads to a link-local, metadata, multicast or unspecified address, which MASQUERADE_BINDING_HOSTS would have to list',
        )
    }
    return addresses
  }
}

/** Networks that are not the internet's, and those through which an IPv6 address leads to one of them. */
const privateNetworks = [
  ...neverAllowed,
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '::/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  'fc00::/7',
  'fec0::/10',
]

/**
 * Lets public hosts pass, and of the others those that `entries` name, by address or network. The addresses of this
 * machine are refused like private ones: requests of the service to itself come from a trusted place.
 */
export function createPublicGuard(entries: readonly string[], resolve: HostGuard = resolveHost): HostGuard {
  const isListed = createNetworkList(entries)
  const isRefused = createNetworkList(privateNetworks)
  return async (host) => {
    const isOwn = createNetworkList(
      Object.values(networkInterfaces()).flatMap((all) => all?.map(addressOf) ?? []),
    )
    const addresses = await resolve(host)
    for (const address of addresses)
      if (!isListed(address) && (isRefused(address) || isOwn(address)))
        throw new HostRefused('leads to an address that is not public')
    return addresses
  }
}

function addressOf({ address }: { readonly address: string }): string {
  return address.split('%')[0] ?? ''
}

async function resolveHost(host: string): Promise<string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address)
  } catch (cause) {
    throw Object.assign(new HostRefused('is unknown', 'ENOTFOUND'), { cause })
  }
}

/** A lookup that knows these addresses alone. */
export function lookupAmong(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, options, done) => {
    const [first] = found
    if (!first) done(new HostRefused('is unknown', 'ENOTFOUND'), '', 0)
    else if (options.all) done(null, found)
    else done(null, first.address, first.family)
  }
}

/** Connects like any socket, once the guard has let the host pass, and to nothing but what the guard resolved. */
export class GuardedSocket extends Socket {
  readonly #guard: HostGuard

  constructor(guard: HostGuard) {
    super()
    this.#guard = guard
  }

  /** As the driver calls it. */
  override connect(port: unknown, host?: unknown): this {
    void this.#guard(String(host)).then(
      (addresses) => {
        if (!this.destroyed)
          super.connect({ port: Number(port), host: String(host), lookup: lookupAmong(addresses) })
      },
      (error: Error) => this.destroy(error),
    )
    return this
  }
}
