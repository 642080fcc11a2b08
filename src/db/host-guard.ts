import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction, Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { createNetworkList, type HostEntry, readHostEntry } from '../kernel/network.ts'

/** Why a host may not be connected to, or that its name is unknown. */
export class HostRefused extends Error {
  readonly code: 'EHOSTREFUSED' | 'ENOTFOUND'

  constructor(reason: string, code: 'EHOSTREFUSED' | 'ENOTFOUND' = 'EHOSTREFUSED') {
    super(reason)
    this.code = code
  }
}

/** Resolves a host to the addresses that may be connected to at the port; rejects with `HostRefused`. */
export type HostGuard = (host: string, port: number) => Promise<readonly string[]>
type HostLookup = (host: string) => Promise<readonly string[]>

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

const notListed = 'is not among the hosts and ports that this service may be bound to'

/**
 * The hosts of `entries` are names, `*.` names, addresses or networks such as 10.0.0.0/8, with a port or for every port; none: every host
 * whose addresses are not among those above, which a list has to name by address or network. Names are resolved here and the
 * caller connects to the result, so that a name cannot lead elsewhere between the check and the connection.
 */
export function createHostGuard(entries: readonly string[], resolve: HostLookup = resolveHost): HostGuard {
  const isRefused = createNetworkList(neverAllowed)
  const [networks, names] = splitEntries(entries)

  return async (host, port) => {
    const isFor = (entry: { readonly port?: number }) => entry.port === undefined || entry.port === port
    const name = host.toLowerCase().replace(/\.$/, '')
    const isNamed = names.some((entry) => isFor(entry) && entry.fits(name))
    const open = networks.filter(isFor)
    if (entries.length > 0 && !isNamed && open.length === 0) throw new HostRefused(notListed)
    const addresses = await resolve(host)
    for (const address of addresses) {
      if (open.some(({ fits }) => fits(address))) continue
      if (entries.length > 0 && !isNamed) throw new HostRefused(notListed)
      if (isRefused(address))
        throw new HostRefused(
          'leads to a link-local, metadata, multicast or unspecified address, which MASQUERADE_BINDING_HOSTS would have to list',
        )
    }
    return addresses
  }
}

/** Entries that addresses are held against, and those for names. */
function splitEntries(entries: readonly string[]) {
  const read = entries.flatMap((text) => readHostEntry(text) ?? [])
  const isNetwork = ({ host }: HostEntry) => isIP(host.split('/')[0] ?? '') !== 0
  const networks = read
    .filter(isNetwork)
    .map((entry) => ({ ...entry, fits: createNetworkList([entry.host]) }))
  const names = read
    .filter((entry) => !isNetwork(entry))
    .map((entry) => ({ ...entry, fits: createNameTest(entry.host.toLowerCase()) }))
  return [networks, names] as const
}

function createNameTest(entry: string): (name: string) => boolean {
  return entry.startsWith('*.') ? (name) => name.endsWith(entry.slice(1)) : (name) => name === entry
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
export function createPublicGuard(entries: readonly string[], resolve: HostLookup = resolveHost): HostGuard {
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
    void this.#guard(String(host), Number(port)).then(
      (addresses) => {
        if (!this.destroyed)
          super.connect({ port: Number(port), host: String(host), lookup: lookupAmong(addresses) })
      },
      (error: Error) => this.destroy(error),
    )
    return this
  }
}
