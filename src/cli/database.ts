import { writeFileSync } from 'node:fs'
import { parseDatabaseUrl } from '../db/database-url.ts'
import { describePlaces } from '../masking/binding/binding-address.ts'
import {
  type Api,
  apiHelp,
  apiOptions,
  databasePathOf,
  listAll,
  openApi,
  Refused,
  serverPathOf,
} from './api.ts'
import { commandOf, refuseUse, type ValuesOf } from './command.ts'
import { restore } from './database-restore.ts'
import { exitCodes } from './exit-codes.ts'
import { readInput } from './input.ts'
import { announce, report } from './surroundings.ts'
import { showText } from './table.ts'

/** The version in which a binding has all of its fields. */
const bindingVersion = 'api-version=2026-11-01'

const options = {
  ...apiOptions,
  to: { type: 'string' },
  'password-file': { type: 'string' },
  'root-certificate': { type: 'string' },
  authentication: { type: 'string' },
  'read-only': { type: 'string' },
  restore: { type: 'boolean' },
  anyway: { type: 'boolean' },
  sql: { type: 'string' },
  yes: { type: 'boolean', short: 'y' },
} as const

interface Shown {
  readonly name: string
  readonly properties: {
    readonly binding: { host: string; port: number; database: string; user: string; sslmode: string } | null
    readonly gatewayName: string | null
    readonly connection?: { state: string; reason: string | null; serverVersion: string | null }
    readonly preflight?: { warnings: readonly { message: string; statements: readonly string[] }[] }
  }
}

export const database = commandOf({
  name: 'database',
  summary: 'Bind a database of the masking API to a real PostgreSQL, list them, or end a binding',
  help: `
Usage: masquerade database bind DATABASE --to postgres://user@host:5432/name?sslmode=verify-full [--password-file FILE]
                                [--anyway] [--sql FILE]
       masquerade database list SUBSCRIPTION/GROUP/SERVER
       masquerade database unbind DATABASE [--restore [--yes]]

DATABASE is subscription/group/server/database, or a resource id. The password stands in a file ('-' is the standard
input), or in the URL, where other users of this machine may see it. It is kept encrypted and never shown again.
The servers of one cluster are named together, host:5432,other:5432: the one that takes writes is used.
sslmode is disable, require, verify-ca or verify-full; unset, it is verify-full, or disable on this machine.

A login that fails is refused and nothing is changed, unless --anyway is said: a binding that works is never replaced by
one that does not. What the database lacks for masks is printed as statements, one a line; --sql writes them to a file.

unbind --restore takes masks, role mappings, login roles, our schemas, the event trigger and the role of the twins away
before it ends the binding, after showing the plan: the database is then as it was. Rules and the exempt list are kept;
the policy is off, also when the database is bound again, until 'masquerade policy enable'.
It can be repeated when something was in the way.

  --authentication METHOD   The weakest way in which the server may ask for the password: scram-sha-256, unless said,
                            md5 or password.
  --read-only PLACE         Where sessions go that ask for read-only transactions: primary, unless said, or standby, which
                            needs several servers and shows the same masks.
  --root-certificate FILE   PEM of the authority that verify-ca and verify-full trust instead of the system's.
${apiHelp}

Exit codes: 0 done, 1 refused, or bound to a database that cannot be reached now, 2 wrong use, 4 something of ours is left.`,
  options,
  verbs: {
    bind: { takes: ['DATABASE'], run: bind },
    list: { takes: ['SERVER'], run: list },
    unbind: { takes: ['DATABASE'], run: unbind },
  },
})

type Values = ValuesOf<typeof options>

async function bind(values: Values, place: string): Promise<number> {
  const path = databasePathOf(place, 'database')
  const binding = await readBinding(values)
  const api = await openApi(values)
  const { body } = await bindOrExplain(api, path, binding, values)
  const { connection } = body.properties
  if (connection?.state !== 'Reachable') {
    report(values, body, `Bound to ${describe(body)}, which cannot be reached now: ${connection?.reason}.\n`)
    return exitCodes.failed
  }
  const warnings = body.properties.preflight?.warnings ?? []
  const lines = warnings.flatMap(({ message, statements }) => [
    `-- ${showText(message)}\n`,
    ...statements.map((sql) => `${sql};\n`),
  ])
  report(
    values,
    body,
    `Bound to ${describe(body)} (PostgreSQL ${connection.serverVersion}).\n${lines.join('')}`,
  )
  writeStatements(
    values.sql,
    warnings.flatMap(({ statements }) => statements),
  )
  return 0
}

async function list(values: Values, place: string): Promise<number> {
  const names = place.split('/')
  if (names.length !== 3) return refuse('Name a server: SUBSCRIPTION/GROUP/SERVER')
  const api = await openApi(values)
  const found = await listAll<Shown>(api, `${serverPathOf(names)}/databases`)
  const lines = found.map(
    (one) => `${one.name}\t${showText(describe(one))}\t${one.properties.gatewayName ?? ''}\n`,
  )
  report(values, found, lines.join('') || 'The server has no database.\n')
  return 0
}

async function unbind(values: Values, place: string): Promise<number> {
  const path = databasePathOf(place, 'database')
  const api = await openApi(values)
  const code = values.restore ? await restore(api, path, values) : 0
  if (code !== 0) return code
  await api.send('PUT', path, { properties: { binding: null } })
  const kept = values.restore
    ? 'Rules and exemptions are kept, and the policy is off: masquerade policy enable'
    : 'Rules and policy are kept.'
  report(values, { binding: null }, `The binding has ended. ${kept}\n`)
  return 0
}

/** Tries the connection first. With --anyway the operator wants the binding also where it cannot be tried. */
async function bindOrExplain(api: Api, path: string, binding: object, values: Values) {
  const headers = { prefer: values.anyway ? 'keep-working' : 'reachable' }
  try {
    return await api.send<Shown>('PUT', `${path}?${bindingVersion}`, { properties: { binding } }, headers)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    const statements = error.parts.flatMap(
      ({ message }) => / Run: (.*);$/s.exec(message)?.[1]?.split('; ') ?? [],
    )
    announce(values, statements.map((sql) => `${sql};\n`).join(''))
    writeStatements(values.sql, statements)
    throw error
  }
}

function writeStatements(file: string | undefined, statements: readonly string[]): void {
  if (file !== undefined) writeFileSync(file, statements.map((sql) => `${sql};\n`).join(''))
}

async function readBinding(values: Values): Promise<object> {
  if (values.to === undefined) return refuse('Say what to bind it to: --to URL')
  const { database: name, user, password, ...place } = parseDatabaseUrl(values.to)
  const mode = new URLSearchParams(values.to.split('?')[1]).get('sslmode')
  const certificate = values['root-certificate']
  return {
    host: place.others ? describePlaces(place) : place.host,
    port: place.port,
    database: name,
    user,
    password: await readPassword(values['password-file'], password),
    ...(mode && { sslmode: mode }),
    ...(values['read-only'] && { readOnlySessions: readPlace(values['read-only']) }),
    ...(values.authentication && { authentication: values.authentication }),
    ...(certificate && { sslRootCertificate: await readInput(certificate) }),
  }
}

function readPlace(text: string): string {
  const place = ['Primary', 'Standby'].find((one) => one.toLowerCase() === text.toLowerCase())
  return place ?? refuse('--read-only is primary or standby')
}

async function readPassword(file: string | undefined, fromUrl: string): Promise<string | null> {
  if (file === undefined) return fromUrl === '' ? null : fromUrl
  return (await readInput(file)).replace(/\r?\n$/, '')
}

function describe({ properties: { binding } }: Shown): string {
  if (!binding) return '(not bound)'
  const { user, host, port } = binding
  // Of several hosts each has its port.
  return `${user}@${host.includes(',') ? host : `${host}:${port}`}/${binding.database} sslmode=${binding.sslmode}`
}

function refuse(reason: string): never {
  return refuseUse('database', reason)
}
