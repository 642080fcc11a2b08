// Apart from the schemas of a binding: the command line needs an address, and starts sooner without them.
import {
  type DatabaseAddress,
  foldPlace,
  type PasswordMethod,
  type Place,
  passwordMethods,
} from '../../db/database-url.ts'
import type { HostGuard } from '../../db/host-guard.ts'

/** From the weakest to the strongest. */
export const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const

export const [strongestPassword] = passwordMethods

/** Where sessions of the gateway go that ask for read-only transactions. */
export const readOnlyPlaces = ['Primary', 'Standby'] as const

/** How to reach a real database. The password is apart from it, sealed. */
export interface Binding {
  readonly host: string
  readonly port: number
  /** Other servers of the same cluster: the one that takes writes is used. */
  readonly others?: readonly Place[]
  readonly database: string
  readonly user: string
  readonly sslmode: (typeof sslModes)[number]
  /** PEM of the authority that `verify-ca` and `verify-full` trust; null: those of the system. */
  readonly sslRootCertificate: string | null
  /** The weakest way in which the server may ask for the password. Bindings of before have none: the strongest counts. */
  readonly authentication?: PasswordMethod
  /** Unset: the primary. */
  readonly readOnlySessions?: (typeof readOnlyPlaces)[number]
}

/** `system`: the cluster that several hosts are known to belong to. */
export function addressOf(
  binding: Binding,
  password: string,
  guard: HostGuard,
  system: string | null = null,
): DatabaseAddress {
  const { host, port, others, database, user, authentication: weakestPassword = strongestPassword } = binding
  const ssl = tlsOf(binding)
  const address = { host, port, database, user, password, guard, weakestPassword }
  return { ...address, ...(others && { others, system }), ...(ssl && { ssl }) }
}

export function placesOf({ host, port, others = [] }: Pick<Binding, 'host' | 'port' | 'others'>): Place[] {
  return [{ host, port }, ...others]
}

/** `host:port`, or several of them with commas. */
export function describePlaces(binding: Pick<Binding, 'host' | 'port' | 'others'>): string {
  return placesOf(binding).map(describePlace).join(',')
}

/** The same for bindings that name the same servers, in whatever order. */
export function serverOf(binding: Pick<Binding, 'host' | 'port' | 'others'>): string {
  return foldPlaces(binding).sort().join(',')
}

export function foldPlaces(binding: Pick<Binding, 'host' | 'port' | 'others'>): string[] {
  return placesOf(binding).map(foldPlace)
}

/**
 * These places, and all that the rows lead to from there, folded. The hosts of one binding are one cluster: bindings with a place in
 * common are of one server.
 */
export function spreadPlaces(
  places: readonly string[],
  rows: readonly { readonly folded: readonly string[] }[],
): ReadonlySet<string> {
  const known = new Set(places)
  let count: number
  do {
    count = known.size
    for (const { folded } of rows)
      if (folded.some((place) => known.has(place))) for (const place of folded) known.add(place)
  } while (known.size > count)
  return known
}

function describePlace({ host, port }: Place): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function tlsOf({ sslmode, sslRootCertificate }: Binding): DatabaseAddress['ssl'] {
  const ca = sslRootCertificate === null ? {} : { ca: sslRootCertificate }
  switch (sslmode) {
    case 'disable':
      return undefined
    case 'require':
      return { rejectUnauthorized: false }
    case 'verify-ca':
      return { ...ca, rejectUnauthorized: true, checkServerIdentity: () => undefined }
    case 'verify-full':
      return { ...ca, rejectUnauthorized: true }
  }
}
