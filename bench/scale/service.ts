// A service with a directory of the size given and, as 'gateway', a masked database on a server of its own. It is a process of
// its own that tells its parent where it is, and stops when the parent disconnects. Nothing here may import node:test, whose
// hooks make writes dearer.
import path from 'node:path'
import pino from 'pino'
import { openDatabase } from '../../src/db/database.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../src/db/embedded.ts'
import { startService } from '../../src/main.ts'
import { readSettings } from '../../src/settings.ts'
import { createTokens } from '../../test/support/tokens.ts'
import { fillDirectory } from '../fill-directory.ts'
import type { LoadPlan } from '../load.ts'

export const accounts = 10_000
export const password = 'secret'
const role = 'bench_reader'
const database = 'bench'
const mostSessions = 1_200

export interface Ready {
  readonly pid: number
  readonly postmasters: readonly number[]
  readonly httpPort: number
  readonly gatewayPort: number
  readonly database: string
  readonly role: string
  readonly filledSeconds: number
  readonly indexSeconds: number
  readonly indexBytes: number
  readonly diskBytes: number
  readonly plans: Readonly<Record<string, Omit<LoadPlan, 'port' | 'connections' | 'seconds'>>>
}

async function startMasked(dataDir: string): Promise<EmbeddedPostgres> {
  const server = await startEmbedded({ dataDir, fast: true, maxConnections: mostSessions })
  const admin = openDatabase({ url: server.url, poolSize: 1 })
  await admin.sql.unsafe(`create database ${database}`)
  await admin.sql.unsafe(`create role ${role} login password '${password}'`)
  await admin.close()
  const own = openDatabase({ url: server.url.replace(/[^/]*$/, database), poolSize: 1, searchPath: 'public' })
  await own.sql.unsafe(`
    create table account (aid int primary key, name text, email text);
    insert into account select n, 'Name ' || n, 'user' || n || '@example.com' from generate_series(1, ${accounts}) n;
    grant select on account to ${role}`)
  await own.close()
  return server
}

if (import.meta.main) {
  const [, , dataDir = '', count = '', kind = ''] = process.argv
  const users = Number(count)
  const masked = kind === 'gateway' ? await startMasked(path.join(dataDir, 'masked')) : undefined
  const settings = readSettings({
    MASQUERADE_DATA_DIR: path.join(dataDir, 'service'),
    MASQUERADE_HTTP_PORT: '0',
    MASQUERADE_HTTPS_PORT: '0',
    MASQUERADE_GATEWAY_PORT: '0',
    // One process, so that its cost is that of the node.
    MASQUERADE_HTTP_WORKERS: '1',
    MASQUERADE_GATEWAY_WORKERS: '1',
    MASQUERADE_RATE_LIMIT: '0',
    MASQUERADE_DEMO: '0',
    MASQUERADE_MEMBERSHIP_MEMORY_MB: '2048',
    MASQUERADE_GATEWAY_CONNECTIONS: String(mostSessions),
    MASQUERADE_GATEWAY_CONNECTIONS_PER_ROLE: String(mostSessions),
  })
  const service = await startService({ settings, log: pino({ level: 'silent' }) })
  const tokens = await createTokens(service)
  const owner = tokens.tokenFor({ role: 'Owner' })
  const token = tokens.tokenFor({ permissions: ['Directory.Read.All'] })
  const writer = tokens.tokenFor({ kind: 'application', permissions: ['User.ReadWrite.All'] })
  await tokens.settled()
  if (masked) await bind(masked)

  const { sql } = service.database
  const { tenantId } = service.store
  const startedAt = performance.now()
  await service.database.transaction((tx) => fillDirectory(tx, tenantId, users))
  await sql`vacuum analyze directory_object, member_edge`
  await sql`checkpoint`
  const filledAt = performance.now()
  // The triggers that tell nodes of a change rested while the directory was filled: this statement makes up for them.
  await sql`delete from member_edge where false`
  await service.memberships.graph.groupsOf(tenantId, tenantId)
  await service.memberships.settled()
  const indexSeconds = (performance.now() - filledAt) / 1000
  const [store] = await sql<{ bytes: number }[]>`select pg_database_size(current_database()) as bytes`
  const ready: Ready = {
    pid: process.pid,
    postmasters: [service.store.server?.pid ?? 0, ...(masked ? [masked.pid] : [])],
    httpPort: service.listeners.httpPort,
    gatewayPort: service.gateway.port,
    database,
    role,
    filledSeconds: (filledAt - startedAt) / 1000,
    indexSeconds,
    indexBytes: service.memberships.size().bytes,
    diskBytes: Number(store?.bytes ?? 0),
    plans: await planRequests(),
  }
  process.send?.(ready)
  process.once('disconnect', async () => {
    await service.stop()
    await masked?.stop()
    process.exit()
  })

  async function bind({ url }: EmbeddedPostgres): Promise<void> {
    const place = `/subscriptions/bench/resourceGroups/bench/providers/Vendor.Sql/servers/bench/databases/${database}`
    const { hostname, port, username, password: own } = new URL(url)
    const binding = { host: hostname, port: Number(port), database, user: username, password: own }
    const rule = { schemaName: 'public', tableName: 'account', columnName: 'email', maskingFunction: 'Email' }
    for (const [at, properties] of [
      [place, { binding }],
      [`${place}/dataMaskingPolicies/Default/rules/email`, rule],
    ] as const) {
      const address = `http://127.0.0.1:${service.listeners.httpPort}${at}?api-version=2014-04-01`
      const answer = await fetch(address, {
        method: 'PUT',
        headers: { authorization: `Bearer ${owner}`, 'content-type': 'application/json' },
        body: JSON.stringify({ properties }),
      })
      if (answer.status >= 300) throw new Error(await answer.text())
    }
  }

  async function planRequests(): Promise<Ready['plans']> {
    const rows = await sql<{ id: string }[]>`
      select id from directory_object where kind = 'user' and user_principal_name like 'user%' order by md5(id::text) limit 5000`
    const people = rows.map(({ id }) => `/v1.0/users/${id}`)
    const get = (paths: readonly string[]) => ({ token, method: 'GET' as const, paths, bodies: [''] })
    const names = Array.from({ length: 50 }, (_, at) => `User ${1 + ((at * 7919) % users)}`)
    const filters = names.map(
      (name) => `/v1.0/users?$top=20&$filter=${encodeURIComponent(`startswith(displayName,'${name}')`)}`,
    )
    return {
      getMemberGroups: {
        token,
        paths: people.map((at) => `${at}/getMemberGroups`),
        bodies: [JSON.stringify({ securityEnabledOnly: false })],
      },
      'GET a user': get(people),
      'a page of 100 users': get(['/v1.0/users?$top=100']),
      'a filter by name': get(filters),
      'PATCH a user': {
        token: writer,
        method: 'PATCH',
        paths: people,
        bodies: ['One', 'Two', 'Three'].map((jobTitle) => JSON.stringify({ jobTitle })),
      },
    }
  }
}
