import { readFileSync } from 'node:fs'
import { isLoopbackHost } from '../kernel/network.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import type { HostGuard } from './host-guard.ts'

/** How a server may ask for a password, from the strongest: with SCRAM it learns nothing that it can use elsewhere. */
export const passwordMethods = ['scram-sha-256', 'md5', 'password'] as const
export type PasswordMethod = (typeof passwordMethods)[number]

export interface Place {
  readonly host: string
  readonly port: number
}

/** Names of hosts have no case. */
export function foldPlace({ host, port }: Place): string {
  return `${host.toLowerCase()}:${port}`
}

export function isSamePlace(one: Place, other: Place): boolean {
  return foldPlace(one) === foldPlace(other)
}

/** Where a database is and who we are there. The fields are those of the driver's options. */
export type DatabaseAddress = {
  /** A name, an address, or the directory of a unix socket. */
  host: string
  port: number
  /** Where the database may be instead. With some, only a server that can be written to will do. */
  others?: readonly Place[]
  database: string
  user: string
  password: string
  ssl?: { rejectUnauthorized: boolean; ca?: string; checkServerIdentity?: () => undefined }
  /** Decides which addresses may be connected to; without it, all. */
  guard?: HostGuard
  /** The weakest way in which the server may ask for the password; any, unless said. */
  weakestPassword?: PasswordMethod
  /** The server has to prove that it knows the password: one that asks for none, or cannot, is not used. */
  requiresProof?: boolean
  /** The system identifier that all of several hosts have; null: the one that the first primary has. Unset: any. */
  system?: string | null
}

const knownParameters = ['sslmode', 'sslrootcert', 'host', 'port', 'target_session_attrs', 'require_auth']

/** Messages never quote the URL: it holds the password. */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  const match =
    /^postgres(?:ql)?:\/\/(?:([^:/?#@]*)(?::([^/?#]*))?@)?([^/?#@]*)\/([^/?#]*)(?:\?([^#]*))?$/.exec(text)
  if (!match) {
    throw new OperatorError('the database URL must look like postgres://user:password@host:5432/database')
  }
  const [, user = '', password = '', hosts = '', database = '', query = ''] = match
  const parameters = new URLSearchParams(query)
  for (const name of parameters.keys()) {
    if (!knownParameters.includes(name)) {
      throw new OperatorError(
        `the database URL has the parameter '${name}', which is not one of ${knownParameters.join(', ')}`,
      )
    }
  }
  if (user === '' || database === '') {
    throw new OperatorError(
      'the database URL must name a user and a database: postgres://user:password@host/database',
    )
  }
  const [first, ...others] = parsePlaces(parameters, hosts)
  checkTarget(parameters)
  const ssl = parseTls(parameters)
  return {
    ...first,
    ...(others.length > 0 && { others }),
    database: decode(database, 'database'),
    user: decode(user, 'user'),
    password: decode(password, 'password'),
    ...(ssl && { ssl }),
    ...parseAuthentication(parameters, [first, ...others], ssl),
  }
}

/**
 * The ways in which the server may ask for the password, as psql takes them. Unless said, a server elsewhere gets it in the clear
 * only when it has proven by a certificate that it is the right one.
 */
function parseAuthentication(
  parameters: URLSearchParams,
  places: readonly Place[],
  ssl: DatabaseAddress['ssl'],
): Pick<DatabaseAddress, 'weakestPassword' | 'requiresProof'> {
  const text = parameters.get('require_auth')
  if (text === null) {
    const isHere = places.every(({ host }) => host.startsWith('/') || isLoopbackHost(host))
    return isHere || ssl?.rejectUnauthorized ? {} : { weakestPassword: 'md5' }
  }
  const named = text.split(',').map((method) => passwordMethods.indexOf(method as PasswordMethod))
  const weakestPassword = passwordMethods[Math.max(...named)]
  if (named.includes(-1) || weakestPassword === undefined) {
    throw new OperatorError(
      `the database URL has require_auth '${text}', which does not list some of ${passwordMethods.join(', ')}`,
    )
  }
  return { weakestPassword, ...(weakestPassword === 'scram-sha-256' && { requiresProof: true }) }
}

/** For messages and logs: everything but the password. */
export function describeAddress({ user, host, port, others = [], database }: DatabaseAddress): string {
  const places = [{ host, port }, ...others].map((place) => `${place.host}:${place.port}`)
  return `${user}@${places.join(',')}/${database}`
}

/** As psql takes them: several hosts with commas, and one port for all or one for each. */
function parsePlaces(parameters: URLSearchParams, hosts: string): [Place, ...Place[]] {
  const named = decode(hosts, 'host')
    .split(',')
    .map((one) => /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(one))
  const names =
    parameters.get('host')?.split(',') ?? named.map((match) => match?.[1]?.replace(/^\[|\]$/g, ''))
  const ports = parameters.get('port')?.split(',') ?? named.map((match) => match?.[2] ?? '5432')
  const places = names.map((host = '', at) => ({ host, port: Number(ports[at] ?? ports[0]) }))
  const isRight = places.every(({ host, port }) => host !== '' && port > 0 && port < 65_536)
  if (!isRight || ![1, names.length].includes(ports.length)) {
    throw new OperatorError(
      'the database URL must name a host, or several: postgres://user:password@host:5432,other:5432/database',
    )
  }
  return places as [Place, ...Place[]]
}

/** The service writes, whatever the address asks for: a read-only server is of no use to it. */
function checkTarget(parameters: URLSearchParams): void {
  const target = parameters.get('target_session_attrs') ?? 'read-write'
  if (!['read-write', 'primary'].includes(target)) {
    throw new OperatorError(
      `the database URL has target_session_attrs '${target}', which is not one of read-write, primary`,
    )
  }
}

function parseTls(parameters: URLSearchParams): DatabaseAddress['ssl'] {
  const file = parameters.get('sslrootcert')
  const ca = file === null || file === 'system' ? {} : { ca: readRootCertificate(file) }
  const mode = parameters.get('sslmode') ?? (file === null ? 'disable' : 'verify-full')
  switch (mode) {
    case 'disable':
      return undefined
    case 'require':
      return { rejectUnauthorized: false }
    case 'verify-ca':
      return { rejectUnauthorized: true, ...ca, checkServerIdentity: () => undefined }
    case 'verify-full':
      return { rejectUnauthorized: true, ...ca }
    default:
      throw new OperatorError(
        `the database URL has sslmode '${mode}', which is not one of disable, require, verify-ca, verify-full`,
      )
  }
}

function readRootCertificate(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new OperatorError(`the file '${file}' of the database URL's sslrootcert cannot be read`, { cause })
  }
}

function decode(text: string, part: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new OperatorError(`the ${part} in the database URL is not percent-encoded properly`)
  }
}
