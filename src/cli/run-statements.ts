import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { OperatorError } from '../kernel/operator-error.ts'
import { codeOf } from '../kernel/sqlstate.ts'
import type { GatewayLogin } from './gateway-login.ts'
import type { GatewayPlace } from './gateway-place.ts'
import { print, warn } from './surroundings.ts'
import { alignColumns, displayWidth, showText } from './table.ts'

/** psql's own exit codes. */
const exitCodes = { good: 0, failed: 1, lost: 2 } as const

const install =
  "psql is not installed, and without it only '-c COMMAND' works. Install it: 'apt install postgresql-client' on Debian and Ubuntu, 'dnf install postgresql' on Fedora, 'brew install libpq' on macOS."

/** Runs `-c` commands where psql is missing, each as one simple query, as psql does. */
export async function runStatements(
  args: readonly string[],
  place: GatewayPlace,
  login: GatewayLogin,
  database: string,
): Promise<number> {
  const commands = readCommands(args)
  const password = login.password ?? process.env.PGPASSWORD
  if (password === undefined)
    throw new OperatorError(`Set PGPASSWORD to the password of ${login.user}.`, { exitCode: 2 })
  const client = new pg.Client({
    host: place.host,
    port: place.port,
    // Whatever NODE_TLS_REJECT_UNAUTHORIZED says.
    ssl: {
      rejectUnauthorized: true,
      host: place.name,
      ...(place.caFile && { ca: readFileSync(place.caFile) }),
      ...(place.name !== place.host && { servername: place.name }),
    },
    user: login.user,
    password,
    database,
    application_name: 'masquerade psql',
  })
  client.on('notice', ({ severity, message }) => say(`${severity}:  ${message}`))
  client.on('error', () => {})
  try {
    await client.connect()
    let code: number = exitCodes.good
    for (const text of commands) code = await runCommand(client, text)
    return code
  } catch (error) {
    sayError(error, 'FATAL')
    return exitCodes.lost
  } finally {
    await client.end().catch(() => {})
  }
}

function readCommands(args: readonly string[]): string[] {
  const options = { command: { type: 'string', short: 'c', multiple: true } } as const
  try {
    const { command } = parseArgs({ args: [...args], options, strict: true }).values
    if (command) return command
  } catch (cause) {
    throw new OperatorError(install, { exitCode: 2, cause })
  }
  throw new OperatorError(install, { exitCode: 2 })
}

/** Values as PostgreSQL writes them: no type of the driver comes between. */
const types = { getTypeParser: () => (text: string) => text } as unknown as pg.CustomTypesConfig

async function runCommand(client: pg.Client, text: string): Promise<number> {
  const tags: string[] = []
  const { connection } = client as unknown as { connection: NodeJS.EventEmitter }
  const addTag = (complete: { text: string }) => tags.push(complete.text)
  connection.on('commandComplete', addTag)
  try {
    const answer: Answer | Answer[] = await client.query({ text, types, rowMode: 'array' })
    for (const [at, one] of [answer].flat().entries()) print(render(one, tags[at] ?? ''))
    return exitCodes.good
  } catch (error) {
    const severity = sayError(error, 'ERROR')
    // A statement that PostgreSQL refuses leaves the session as it is; every other error has ended it.
    if (severity !== 'ERROR' || !/^[0-9A-Z]{5}$/.test(codeOf(error))) return exitCodes.lost
    return exitCodes.failed
  } finally {
    connection.off('commandComplete', addTag)
  }
}

type Answer = pg.QueryArrayResult<(string | null)[]>

const numberTypes = new Set([20, 21, 23, 26, 28, 29, 700, 701, 790, 1700, 5069])

/** A table as psql prints it; the tag of a command that changes rows or returns none. */
function render({ fields, rows }: Answer, tag: string): string {
  if (fields.length === 0) return tag === '' ? '' : `${tag}\n`
  const right = new Set(fields.flatMap(({ dataTypeID }, at) => (numberTypes.has(dataTypeID) ? [at] : [])))
  const head = fields.map(({ name }) => showText(name))
  const body = rows.map((row) => row.map((value) => showText(value ?? '')))
  const [top = [], ...lines] = alignColumns([head, ...body], right)
  const count = `(${rows.length} ${rows.length === 1 ? 'row' : 'rows'})`
  const rule = top.map((cell) => '-'.repeat(displayWidth(cell) + 2)).join('+')
  const shown = lines.map((line) => ` ${line.join(' | ')}`)
  const changed = /^(INSERT|UPDATE|DELETE|MERGE)\b/.test(tag) ? `${tag}\n` : ''
  return `${[` ${top.join(' | ')}`, rule, ...shown, count].join('\n')}\n\n${changed}`
}

function sayError(error: unknown, usual: string): string {
  const { severity = usual, message } = error as { severity?: string; message: string }
  say(`${severity}:  ${message}`)
  return severity
}

function say(text: string): void {
  warn(`${text.split('\n').map(showText).join('\n')}\n`)
}
