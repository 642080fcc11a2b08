import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { advisoryLocks } from '../../../src/db/advisory-locks.ts'
import { closeStore, findOpenStore } from '../../../src/db/close-store.ts'
import { connectDatabase } from '../../../src/db/connect.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { parseDatabaseUrl } from '../../../src/db/database-url.ts'
import { clause } from '../../support/clause.ts'
import { createTestDatabase, forEachCluster } from '../../support/postgres.ts'

forEachCluster((cluster) => {
  clause(
    'SVC-75',
    'Other roles of the server cannot connect to the database of the service: the service takes CONNECT away from PUBLIC where it owns the database and no others have tables in it…',
    async () => {
      await using testing = await createTestDatabase(cluster)
      const { sql } = testing.database
      const stranger = `stranger_${randomBytes(6).toString('hex')}`
      await sql.unsafe(`create role ${stranger} login password 'x'`)
      const url = testing.url.replace(/\/\/[^@]*@/, `//${stranger}:x@`)
      const lock = async () => {
        const { sql: theirs, close } = openDatabase({ url, poolSize: 1 })
        try {
          await theirs`select pg_advisory_lock(${advisoryLocks.administrators})`
        } finally {
          await close()
        }
      }
      try {
        await lock()
        await sql`create table public.of_others (id int)`
        await closeStore(sql)
        await lock()
        assert.match(
          (await findOpenStore(sql)) ?? '',
          /^REVOKE CONNECT, TEMPORARY ON DATABASE .+ FROM PUBLIC$/,
        )
        await sql`drop table public.of_others`
        await (await connectDatabase({ url: testing.url })).close()
        assert.equal(await findOpenStore(sql), undefined)
        await assert.rejects(lock(), /permission denied for database/)
      } finally {
        await sql.unsafe(`drop role ${stranger}`)
      }
    },
  )
})

/** A machine in the place of the store: it answers the first packet with these bytes, and keeps what it hears then. */
async function startImpostor(answer: Buffer) {
  const heard: Buffer[] = []
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.on('data', (bytes) => heard.push(bytes))
      socket.write(answer)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const place = { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
  return { heard, place, [Symbol.dispose]: () => void server.close() }
}

const asksForPassword = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3])
const letsIn = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49])

clause(
  'SVC-76',
  'A server of `MASQUERADE_DATABASE_URL` on another machine gets the password in the clear only where `sslmode` checks its certificate, or `require_auth` lists `password`…',
  async () => {
    const ask = async (url: string, place: object) => {
      const { sql, close } = openDatabase({ url: { ...parseDatabaseUrl(url), ...place }, poolSize: 1 })
      try {
        return await sql`select 1 as one`
      } finally {
        await close()
      }
    }
    const elsewhere = 'postgres://u:hunter2@db.example/d'
    using thief = await startImpostor(asksForPassword)
    await assert.rejects(ask(elsewhere, thief.place), (error: Error) => /EWEAKAUTH/.test(String(error.cause)))
    assert.deepEqual(thief.heard, [])
    using impostor = await startImpostor(letsIn)
    await assert.rejects(ask(`${elsewhere}?require_auth=scram-sha-256`, impostor.place), (error: Error) =>
      /EUNPROVEN/.test(String(error.cause)),
    )
    assert.doesNotMatch(Buffer.concat(impostor.heard).toString(), /select/)
    await using testing = await createTestDatabase()
    assert.deepEqual(await ask(`${testing.url}?require_auth=scram-sha-256`, {}), [{ one: 1 }])
  },
)
