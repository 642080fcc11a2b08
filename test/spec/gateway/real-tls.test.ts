import assert from 'node:assert/strict'
import { chmodSync, chownSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import pg from 'pg'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { createCa, issueCertificate, toPem } from '../../../src/http/local-ca.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { clause } from '../../support/clause.ts'
import { listClusterNames, startCluster } from '../../support/cluster.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** PostgreSQL's own TLS; the last of those at hand is Debian's where it is installed. */
const name = listClusterNames().at(-1) ?? 'embedded-18'

describe('a database with TLS of its own', { timeout: 60_000 }, () => {
  let cluster: Awaited<ReturnType<typeof startCluster>>
  let admin: Database
  let trusted: string
  before(async () => {
    cluster = await startCluster(name)
    admin = openDatabase({ url: cluster.url, poolSize: 2 })
    const { ca } = await createCa(['localhost'], new Date())
    trusted = toPem(ca.certificate)
    const { cert, key } = await issueCertificate(ca, ['localhost'], new Date())
    const [row] = await admin.sql`select current_setting('data_directory') as directory`
    const { uid, gid } = statSync(row?.directory)
    for (const [file, text] of Object.entries({ 'server.crt': cert, 'server.key': key })) {
      const path = join(row?.directory, file)
      writeFileSync(path, text)
      chmodSync(path, 0o600)
      chownSync(path, uid, gid)
    }
    await admin.sql.unsafe("create role analyst login password 'secret'")
    await admin.sql.unsafe('alter system set ssl = on')
    await admin.sql`select pg_reload_conf()`
  })
  after(async () => {
    await admin.close()
    await cluster.stop()
  })
  const ask = async (host: string, ssl: { rejectUnauthorized: boolean; ca?: string }, client = {}) => {
    const gateway = await openBareGateway(admin, cluster.url, {}, { host, ssl })
    const account = { user: 'analyst', password: 'secret', database: 'any' }
    const session = new pg.Client({ host: '127.0.0.1', port: gateway.port, ...account, ...client })
    session.on('error', () => {})
    try {
      await session.connect()
      const text = 'select ssl, version from pg_stat_ssl where pid = pg_backend_pid()'
      return (await session.query(text)).rows[0]
    } finally {
      await session.end().catch(() => {})
      await gateway.close(0)
    }
  }

  clause(
    'GATE-74',
    'The connection to a database is encrypted as its binding says, and its certificate is…',
    async () => {
      const full = { rejectUnauthorized: true, ca: trusted }
      assert.deepEqual(await ask('localhost', full), { ssl: true, version: 'TLSv1.3' })
      assert.deepEqual(await ask('127.0.0.1', { rejectUnauthorized: false }), {
        ssl: true,
        version: 'TLSv1.3',
      })
      await assert.rejects(ask('127.0.0.1', full), { code: '08001', message: /certificate/ })
      const other = await createCa(['localhost'], new Date())
      const wrong = { rejectUnauthorized: true, ca: toPem(other.ca.certificate) }
      await assert.rejects(ask('localhost', wrong), { code: '08001', message: /certificate/ })
      await assert.rejects(ask('localhost', full, { password: 'wrong' }), { code: '28P01' })
      await admin.sql.unsafe('alter system set ssl = off')
      await admin.sql`select pg_reload_conf()`
      // The server goes on with its former settings until it has read the file.
      const refusal = await waitUntil('the server without TLS', () =>
        ask('localhost', full).then(
          () => undefined,
          (error: Error) => error,
        ),
      )
      assert.equal(Reflect.get(refusal ?? {}, 'code'), '08001')
      assert.match(refusal?.message ?? '', /no TLS/)
    },
  )
})
