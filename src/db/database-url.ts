import { readFileSync } from 'node:fs'
import { OperatorError } from '../kernel/operator-error.ts'
import type { HostGuard } from './host-guard.ts'

/** How a server may ask for a password, from the strongest: with SCRAM it learns nothing that it can use elsewhere. */
export const passwordMethods = ['scram-sha-256', 'md5', 'password'] as const
export type PasswordMethod = (typeof passwordMethods)[number]

/** Where a database is and who we are there. The fields are those of the driver's options. */
export type DatabaseAddress = {
  /** A name, an address, or the directory of a unix socket. */
  host: string
  port: number
  database: string
  user: string
  password: string
  ssl?: { rejectUnauthorized: boolean; ca?: string; checkServerIdentity?: () => undefined }
  /** Decides which addresses may be connected to; without it, all. */
  guard?: HostGuard
  /** The weakest way in which the server may ask for the password; any, unless said. */
  weakestPassword?: PasswordMethod
}

const knownParameters = ['sslmode', 'sslrootcert', 'host', 'port']

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
  const { host, port } = parseHost(parameters, hosts)
  const ssl = parseTls(parameters)
  return {
    host,
    port,
    database: decode(database, 'database'),
    user: decode(user, 'user'),
    password: decode(password, 'password'),
    ...(ssl && { ssl }),
  }
}

/** For messages and logs: everything but the password. */
export function describeAddress({ user, host, port, database }: DatabaseAddress): string {
  return `${user}@${host}:${port}/${database}`
}

function parseHost(parameters: URLSearchParams, hosts: string): { host: string; port: number } {
  const match = /^(\[[^\]]*\]|[^:,]*)(?::(\d{1,5}))?$/.exec(decode(hosts, 'host'))
  const host = parameters.get('host') ?? match?.[1]?.replace(/^\[|\]$/g, '')
  const port = Number(parameters.get('port') ?? match?.[2] ?? 5432)
  if (!host || !(port > 0 && port < 65_536)) {
    throw new OperatorError(
      'the database URL must name one host: postgres://user:password@host:5432/database',
    )
  }
  return { host, port }
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
