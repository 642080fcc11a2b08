import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import pg from 'pg'
import { guardAnswers } from '../../db/guard-answers.ts'
import { nodeName } from '../../kernel/node-name.ts'
import { codeOf, sqlstate } from '../../kernel/sqlstate.ts'
import { localProxyHeader } from '../../wire/proxy-header.ts'

/** One statement of a person, to be run at the gateway with that person's own token. */
export interface QueryRequest {
  /** As the gateway knows the database. */
  readonly database: string
  readonly user: string
  readonly token: string
  readonly sql: string
  readonly isReadOnly: boolean
  readonly rowLimit: number
  readonly timeoutMs: number
  /** Aborts when the person cancels: the session ends, and with it the statement. */
  readonly signal: AbortSignal
}

export interface QueryAnswer {
  readonly columns: readonly { readonly name: string; readonly relation: number; readonly position: number }[]
  /** Values as PostgreSQL writes them. */
  readonly rows: readonly (readonly (string | null)[])[]
  /** More rows were there than the limit. */
  readonly isCut: boolean
  readonly command: string
  readonly affected: number | null
  /** The error of PostgreSQL or the gateway. */
  readonly error: { readonly code: string; readonly message: string; readonly position: number | null } | null
}

export type QueryOutcome = QueryAnswer | 'loginRefused'

const connectTimeoutMs = 10_000
/** The answer is held in memory as a whole, and one value may have a gigabyte. */
const mostBytes = 16 * 1024 * 1024
const asTheyAre = { getTypeParser: () => (text: string) => text }

/** The gateway of this node. */
export interface GatewayAddress {
  readonly host: string
  readonly port: number
  /** The certificate that proves it. */
  readonly certificate: string
  /** Connections from here have to begin as a proxy's do. */
  readonly isProxy: boolean
}

/**
 * Runs one statement through the gateway, as any client of the person would: masks, privileges, audit and the end of
 * sessions are the gateway's. The extended protocol takes one statement, so a transaction that is read-only stays so.
 */
export async function runQuery(gateway: GatewayAddress, request: QueryRequest): Promise<QueryOutcome> {
  const { database, user, token, isReadOnly, timeoutMs, signal } = request
  const client = new pg.Client({
    host: anyAddress,
    stream: () => new GatewaySocket(gateway),
    database,
    user,
    password: token,
    application_name: 'masquerade portal',
    connectionTimeoutMillis: connectTimeoutMs,
    // Another program may have the port once the gateway has closed: the token is for this node alone.
    ssl: { ca: gateway.certificate, servername: nodeName, rejectUnauthorized: true },
  })
  client.on('error', () => {})
  // The gateway passes on what the database sends.
  guardAnswers(client)
  const streamOf = (): Duplex => Reflect.get(client, 'connection').stream
  const end = () => void streamOf().destroy()
  try {
    await client.connect()
  } catch (error) {
    if (/^28|^3D/.test(codeOf(error))) return 'loginRefused'
    return refused(error)
  }
  const late = setTimeout(end, timeoutMs + 1_000)
  signal.addEventListener('abort', end)
  let received = 0
  streamOf().on('data', (chunk: Buffer) => {
    received += chunk.length
    if (received > mostBytes) end()
  })
  try {
    await client.query(`begin ${isReadOnly ? 'read only' : 'read write'}`)
    await client.query(`set local statement_timeout = ${Math.trunc(timeoutMs)}`)
    const answer = await readRows(client, request, end)
    // What was read stands without its end. A write is stored by the commit alone, where deferred constraints are looked at.
    if (isReadOnly) await client.query('rollback').catch(() => {})
    else await client.query('commit')
    return answer
  } catch (error) {
    return refused(received > mostBytes ? new TooLarge() : error)
  } finally {
    clearTimeout(late)
    signal.removeEventListener('abort', end)
    await client.end().catch(() => {})
  }
}

/** The driver would ask for the certificate of a host that has a name; for an address, it asks for the name that it is told. */
const anyAddress = '127.0.0.1'

/** Connects to the gateway, whatever address the driver says, and begins as the gateway expects it of a proxy. */
class GatewaySocket extends Socket {
  readonly #gateway: GatewayAddress

  constructor(gateway: GatewayAddress) {
    super()
    this.#gateway = gateway
    if (gateway.isProxy) this.once('connect', () => this.write(localProxyHeader))
  }

  override connect(): this {
    const { host, port } = this.#gateway
    return super.connect(port, host)
  }
}

/** Stops at the row after the limit: the rest of a read is not worth receiving, and a write goes on to its end. */
function readRows(client: pg.Client, { sql, rowLimit, isReadOnly }: QueryRequest, end: () => void) {
  const rows: (string | null)[][] = []
  let isCut = false
  return new Promise<QueryAnswer>((resolve, reject) => {
    const settings = { text: sql, rowMode: 'array', types: asTheyAre, queryMode: 'extended' }
    const query = new pg.Query(settings as unknown as pg.QueryArrayConfig)
    const answer = (result?: pg.QueryArrayResult): QueryAnswer => ({
      columns: describe(result ?? (Reflect.get(query, '_result') as pg.QueryArrayResult)),
      rows,
      isCut,
      command: result?.command ?? '',
      affected: result?.rowCount ?? null,
      error: null,
    })
    query.on('row', (row: unknown) => {
      if (rows.length < rowLimit) return void rows.push(row as (string | null)[])
      isCut = true
      if (!isReadOnly) return
      resolve(answer())
      end()
    })
    query.on('end', (result: unknown) => resolve(answer(result as pg.QueryArrayResult)))
    query.on('error', reject)
    client.query(query)
  })
}

class TooLarge extends Error {
  readonly code = sqlstate.programLimitExceeded

  constructor() {
    super(
      `the answer is larger than ${mostBytes / 1024 / 1024} MB: ask for fewer rows, or for parts of the values`,
    )
  }
}

function describe({ fields }: pg.QueryArrayResult): QueryAnswer['columns'] {
  return fields.map(({ name, tableID, columnID }) => ({ name, relation: tableID, position: columnID }))
}

function refused(error: unknown): QueryAnswer {
  const { message, position } = error as { message?: string; position?: string }
  return {
    columns: [],
    rows: [],
    isCut: false,
    command: '',
    affected: null,
    error: {
      code: codeOf(error) || 'ended',
      message: message ?? 'the session ended',
      position: position === undefined ? null : Number(position),
    },
  }
}
