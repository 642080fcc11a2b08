import { readFileSync } from 'node:fs'
import { OperatorError } from '../kernel/operator-error.ts'

/** Where a database is and who we are there. The fields are those of the client's options. */
export type DatabaseAddress = {
  host: string[]
  port: number[]
  database: string
  username: string
  password: string
  path?: string
  ssl?: 'prefer' | 'require' | 'verify-full' | { ca?: string; checkServerIdentity?: () => undefined }
  target_session_attrs?: 'read-write' | 'read-only' | 'primary' | 'standby' | 'prefer-standby'
}

const sessionAttributes = ['read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] as const
const knownParameters = ['sslmode', 'sslrootcert', 'target_session_attrs', 'host']

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
  const host = parseHosts(parameters.get('host') ?? hosts)
  const socketDirectory = host[0]?.name.startsWith('/') ? host[0] : undefined
  const attributes = sessionAttributes.find((name) => name === parameters.get('target_session_attrs'))
  const ssl = parseTls(parameters)
  return {
    host: host.map(({ name }) => name),
    port: host.map(({ port }) => port),
    database: decode(database, 'database'),
    username: decode(user, 'user'),
    password: decode(password, 'password'),
    ...(socketDirectory && { path: `${socketDirectory.name}/.s.PGSQL.${socketDirectory.port}` }),
    ...(ssl && { ssl }),
    ...(attributes && { target_session_attrs: attributes }),
  }
}

/** For messages and logs: everything but the password. */
export function describeAddress(address: DatabaseAddress): string {
  const where =
    address.path ?? address.host.map((name, at) => `${name}:${address.port[at] ?? 5432}`).join(',')
  return `${address.username}@${where}/${address.database}`
}

function parseHosts(text: string): { name: string; port: number }[] {
  return text.split(',').map((part) => {
    const [, name = '', port = '5432'] =
      /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(decode(part, 'host')) ?? []
    if (name === '')
      throw new OperatorError('the database URL must name a host: postgres://user:password@host/database')
    return { name: name.replace(/^\[|\]$/g, ''), port: Number(port) }
  })
}

function parseTls(parameters: URLSearchParams): DatabaseAddress['ssl'] {
  const mode = parameters.get('sslmode')
  const rootFile = parameters.get('sslrootcert')
  const ca = rootFile === null || rootFile === 'system' ? undefined : readRootCertificate(rootFile)
  switch (mode) {
    case null:
      return ca === undefined ? (rootFile === 'system' ? 'verify-full' : undefined) : { ca }
    case 'disable':
      return undefined
    case 'prefer':
    case 'require':
      return ca === undefined ? mode : { ca }
    case 'verify-ca':
      return { ...(ca !== undefined && { ca }), checkServerIdentity: () => undefined }
    case 'verify-full':
      return ca === undefined ? 'verify-full' : { ca }
    default:
      throw new OperatorError(
        `the database URL has sslmode '${mode}', which is not one of disable, prefer, require, verify-ca, verify-full`,
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
