import { type ChildProcess, fork, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openDatabase } from '../../src/db/database.ts'
import { startEmbedded } from '../../src/db/embedded.ts'
import { chooseAccount } from '../../src/db/server/account.ts'

/** Somewhere to send the same reads to. */
export interface Place {
  readonly name: string
  readonly port: number
  readonly database: string
  /** The relation that the statements read: the masked table itself, or a view over it written by hand. */
  readonly relation: string
  /** Of the processes in between. */
  readonly pids: readonly number[]
}

export const rows = 1_000_000
export const role = 'analyst'
export const password = 'secret'
const databaseName = 'shop'

/** The masks as somebody would write them by hand, over a table of the same rows: that of the masked one is closed. */
const preparation = `
  create table public.account (aid int primary key, name text not null, email text, balance numeric(12,2));
  insert into public.account
    select n, 'account ' || n, 'mail' || n || '@example.com', n from generate_series(1, ${rows}) n;
  create table public.account_copy (like public.account including all);
  insert into public.account_copy select * from public.account;
  create view public.account_by_hand as select aid, name,
    case when email is null then null
      else case when length(email) > 1 then left(email, 1) else 'X' end || 'XXX@XXXX.com' end as email,
    case when balance is null then null else 0::numeric(12,2) end as balance
    from public.account_copy;
  create role ${role} login password '${password}';
  grant select on public.account, public.account_by_hand to ${role};`

export interface Places extends AsyncDisposable {
  readonly direct: Place
  readonly pipe: Place
  readonly bouncer: Place | undefined
  readonly gateway: Place
  /** The same service with so many worker processes. */
  openWorkers(count: number): Promise<Place>
}

/** One PostgreSQL, and every way to it. */
export async function openPlaces(): Promise<Places> {
  const directory = mkdtempSync(path.join(tmpdir(), 'masquerade-bench-'))
  chmodSync(directory, 0o711)
  const stack = new AsyncDisposableStack()
  stack.defer(() => rmSync(directory, { recursive: true, force: true }))
  const server = await startEmbedded({ dataDir: path.join(directory, 'server') })
  stack.defer(() => server.stop())
  const urlOf = (database: string) => server.url.replace(/[^/]*$/, database)
  await prepare(urlOf('postgres'), urlOf(databaseName))

  const byHand = { database: databaseName, relation: 'public.account_by_hand' }
  const runChild = async (file: string, args: string[], env: NodeJS.ProcessEnv = {}) => {
    const child = fork(path.join(import.meta.dirname, file), args, { env: { ...process.env, ...env } })
    stack.defer(() => end(child, () => child.disconnect()))
    const [{ port, pids = [child.pid ?? 0] }] = (await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(() => Promise.reject(new Error(`${file} ended`))),
    ])) as [{ port: number; pids?: number[] }]
    return { port, pids }
  }
  // Several services are nodes over one store: a database is masked by one of these alone.
  await createDatabase(urlOf('postgres'), 'store')
  const keyFile = path.join(directory, 'secret.key')
  writeFileSync(keyFile, randomBytes(32), { mode: 0o600 })
  const openService = async (name: string, workers: number) => {
    const child = await runChild('service.ts', [urlOf(databaseName), databaseName], {
      MASQUERADE_DATA_DIR: mkdtempSync(path.join(directory, 'service-')),
      MASQUERADE_DATABASE_URL: urlOf('store'),
      MASQUERADE_SECRET_KEY_FILE: keyFile,
      MASQUERADE_HTTP_PORT: '0',
      MASQUERADE_HTTPS_PORT: '0',
      MASQUERADE_GATEWAY_PORT: '0',
      MASQUERADE_GATEWAY_WORKERS: String(workers),
      MASQUERADE_RATE_LIMIT: '0',
      MASQUERADE_DEMO: '0',
    })
    return { name, ...child, database: databaseName, relation: 'public.account' }
  }
  const bouncer = await runBouncer(directory, server.port)
  if (bouncer) stack.defer(() => end(bouncer.child, () => void bouncer.child.kill()))
  return {
    direct: { name: 'direct', port: server.port, pids: [], ...byHand },
    pipe: { name: 'pipe', ...(await runChild('pipe.ts', [String(server.port)])), ...byHand },
    bouncer: bouncer && { name: 'PgBouncer', port: bouncer.port, pids: [bouncer.child.pid ?? 0], ...byHand },
    gateway: await openService('gateway', 1),
    openWorkers: (count) => openService(`${count} workers`, count),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

async function end(child: ChildProcess, ask: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  ask()
  await ended
}

async function createDatabase(administratorUrl: string, name: string): Promise<void> {
  const { sql, close } = openDatabase({ url: administratorUrl, poolSize: 1 })
  await sql`create database ${sql(name)}`
  await close()
}

async function prepare(administratorUrl: string, url: string): Promise<void> {
  await createDatabase(administratorUrl, databaseName)
  const { sql, close } = openDatabase({ url, poolSize: 1, statementTimeoutMs: 300_000 })
  await sql.unsafe(preparation)
  await sql.unsafe('vacuum analyze public.account, public.account_copy')
  await close()
}

/** Debian's, in session mode. Undefined: it is not installed. */
async function runBouncer(directory: string, serverPort: number) {
  const file = [
    '/usr/sbin/pgbouncer',
    ...(process.env.PATH ?? '').split(':').map((at) => `${at}/pgbouncer`),
  ].find((each) => existsSync(each))
  if (!file) return undefined
  const port = await findFreePort()
  const settings = path.join(directory, 'pgbouncer.ini')
  const users = path.join(directory, 'users.txt')
  writeFileSync(users, `"${role}" "${password}"\n`)
  writeFileSync(
    settings,
    `[databases]
${databaseName} = host=127.0.0.1 port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = session
max_client_conn = 100
default_pool_size = 50
`,
  )
  const child = spawn(file, ['-q', settings], {
    ...chooseAccount(path.join(directory, 'server', 'postgres')),
    stdio: 'ignore',
  })
  await waitUntilOpen(port)
  return { child, port }
}

async function waitUntilOpen(port: number): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true))
      socket.once('error', () => resolve(false))
    })
    socket.destroy()
    if (isOpen) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('PgBouncer does not answer')
}

async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address')
  return address.port
}
