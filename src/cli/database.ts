import { readFileSync, writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { parseDatabaseUrl } from '../db/database-url.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { type Command, readArgs } from './command.ts'
import { restore } from './database-restore.ts'
import {
  apiHelp,
  apiOptions,
  databasePathOf,
  type MaskingApi,
  openMaskingApi,
  Refused,
  serverPathOf,
} from './masking-api.ts'

const options = {
  ...apiOptions,
  to: { type: 'string' },
  'password-file': { type: 'string' },
  'root-certificate': { type: 'string' },
  authentication: { type: 'string' },
  json: { type: 'boolean' },
  restore: { type: 'boolean' },
  anyway: { type: 'boolean' },
  sql: { type: 'string' },
  yes: { type: 'boolean', short: 'y' },
} as const

interface Shown {
  readonly name: string
  readonly properties: {
    readonly binding: { host: string; port: number; database: string; user: string; sslmode: string } | null
    readonly connection?: { state: string; reason: string | null; serverVersion: string | null }
    readonly preflight?: { warnings: readonly { message: string; statements: readonly string[] }[] }
  }
}

interface Page {
  readonly value: Shown[]
  readonly nextLink?: string
}

export const database: Command = {
  name: 'database',
  summary: 'Bind a database of the masking API to a real PostgreSQL, list them, or end a binding',
  help: `
Usage: masquerade database bind DATABASE --to postgres://user@host:5432/name?sslmode=verify-full [--password-file FILE]
                                [--anyway] [--sql FILE]
       masquerade database list SUBSCRIPTION/GROUP/SERVER [--json]
       masquerade database unbind DATABASE [--restore [--yes]]

DATABASE is subscription/group/server/database, or a resource id. The password stands in a file ('-' is the standard
input), or in the URL, where other users of this machine may see it. It is kept encrypted and never shown again.
sslmode is disable, require, verify-ca or verify-full; unset, it is verify-full, or disable on this machine.

A login that fails is refused and nothing is changed, unless --anyway is said: a binding that works is never replaced by
one that does not. What the database lacks for masks is printed as statements, one a line; --sql writes them to a file.

unbind --restore takes masks, role mappings, login roles, our schemas, the event trigger and the role of the twins away
before it ends the binding, after showing the plan: the database is then as it was. Rules and the exempt list are kept.
It can be repeated when something was in the way.

  --authentication METHOD   The weakest way in which the server may ask for the password: scram-sha-256, unless said,
                            md5 or password.
  --root-certificate FILE   PEM of the authority that verify-ca and verify-full trust instead of the system's.
${apiHelp}

Exit codes: 0 done, 1 refused, or bound to a database that cannot be reached now, 2 wrong use, 4 something of ours is left.`,
  async run(args) {
    const { values, positionals } = readArgs('database', args, { options, allowPositionals: true })
    const [verb = '', place, ...more] = positionals
    const run = verbs[verb]
    if (!run || place === undefined || more.length > 0) return refuse('Say bind, list or unbind, and of what')
    return run(values, place)
  },
}

type Values = ReturnType<typeof readArgs<{ options: typeof options }>>['values']

const verbs: Readonly<Record<string, (values: Values, place: string) => Promise<number>>> = {
  async bind(values, place) {
    const path = databasePathOf(place, 'database')
    const binding = await readBinding(values)
    const api = await openMaskingApi(values)
    const { body } = await bindOrExplain(api, path, binding, values)
    const { connection } = body.properties
    if (connection?.state === 'Reachable') {
      process.stdout.write(`Bound to ${describe(body)} (PostgreSQL ${connection.serverVersion}).\n`)
      const warnings = body.properties.preflight?.warnings ?? []
      for (const { message, statements } of warnings)
        process.stdout.write([`-- ${message}`, ...statements.map((sql) => `${sql};`), ''].join('\n'))
      writeStatements(
        values.sql,
        warnings.flatMap(({ statements }) => statements),
      )
      return 0
    }
    process.stdout.write(`Bound to ${describe(body)}, which cannot be reached now: ${connection?.reason}.\n`)
    return 1
  },

  async list(values, place) {
    const names = place.split('/')
    if (names.length !== 3) return refuse('Name a server: SUBSCRIPTION/GROUP/SERVER')
    const api = await openMaskingApi(values)
    const found = await listAll(api, `${serverPathOf(names)}/databases`)
    const lines = found.map((one) => `${one.name}\t${describe(one)}\n`)
    process.stdout.write(values.json ? `${JSON.stringify(found, null, 2)}\n` : lines.join(''))
    return 0
  },

  async unbind(values, place) {
    const path = databasePathOf(place, 'database')
    const api = await openMaskingApi(values)
    const code = values.restore ? await restore(api, path, values.yes ?? false) : 0
    if (code !== 0) return code
    await api.send('PUT', path, { properties: { binding: null } })
    process.stdout.write('The binding has ended. Rules and policy are kept.\n')
    return 0
  },
}

/** Tries the connection first, unless the operator wants the binding in any case. */
async function bindOrExplain(api: MaskingApi, path: string, binding: object, values: Values) {
  const headers: Record<string, string> = values.anyway ? {} : { prefer: 'reachable' }
  try {
    return await api.send<Shown>('PUT', path, { properties: { binding } }, headers)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    const statements = error.parts.flatMap(
      ({ message }) => / Run: (.*);$/s.exec(message)?.[1]?.split('; ') ?? [],
    )
    for (const sql of statements) process.stdout.write(`${sql};\n`)
    writeStatements(values.sql, statements)
    throw error
  }
}

function writeStatements(file: string | undefined, statements: readonly string[]): void {
  if (file !== undefined) writeFileSync(file, statements.map((sql) => `${sql};\n`).join(''))
}

async function listAll(api: MaskingApi, path: string, skipToken = ''): Promise<Shown[]> {
  const query = skipToken === '' ? '' : `?$skipToken=${encodeURIComponent(skipToken)}`
  const { body } = await api.send<Page>('GET', path + query)
  const next = body.nextLink && URL.parse(body.nextLink)?.searchParams.get('$skipToken')
  return next ? [...body.value, ...(await listAll(api, path, next))] : body.value
}

async function readBinding(values: Values): Promise<object> {
  if (values.to === undefined) return refuse('Say what to bind it to: --to URL')
  const mode = URL.parse(values.to)?.searchParams.get('sslmode')
  const { host, port, database: name, user, password } = parseDatabaseUrl(values.to)
  const certificate = values['root-certificate']
  return {
    host,
    port,
    database: name,
    user,
    password: await readPassword(values['password-file'], password),
    ...(mode && { sslmode: mode }),
    ...(values.authentication && { authentication: values.authentication }),
    ...(certificate && { sslRootCertificate: readOrRefuse(certificate) }),
  }
}

async function readPassword(file: string | undefined, fromUrl: string): Promise<string | null> {
  if (file === undefined) return fromUrl === '' ? null : fromUrl
  const content = file === '-' ? await text(process.stdin) : readOrRefuse(file)
  return content.replace(/\r?\n$/, '')
}

function readOrRefuse(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new OperatorError(`${file} cannot be read (${(cause as NodeJS.ErrnoException).code}).`, { cause })
  }
}

function describe({ properties: { binding } }: Shown): string {
  if (!binding) return '(not bound)'
  return `${binding.user}@${binding.host}:${binding.port}/${binding.database} sslmode=${binding.sslmode}`
}

function refuse(reason: string): never {
  throw new OperatorError(`${reason}. See 'masquerade help database'.`, { exitCode: 2 })
}
