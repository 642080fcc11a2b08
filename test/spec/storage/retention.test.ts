import assert from 'node:assert/strict'
import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { Sql } from '../../../src/db/database.ts'
import { createArchive } from '../../../src/db/export-audit.ts'
import { migrate, readMigrations } from '../../../src/db/migrate.ts'
import { keepPartitions, listPartitions } from '../../../src/db/partitions.ts'
import { dropOldAudits, dropOldChanges } from '../../../src/db/retention.ts'
import { clause } from '../../support/clause.ts'
import { createEmptyDatabase, createTestDatabase, forEachCluster } from '../../support/postgres.ts'
import { runHere } from '../../support/run-here.ts'

const dayMs = 24 * 60 * 60 * 1000
const later = (days: number) => new Date(Date.now() + days * dayMs)
const folder = mkdtempSync(join(tmpdir(), 'masquerade-retention-'))
after(() => rmSync(folder, { recursive: true, force: true }))

async function readTenant(sql: Sql): Promise<string> {
  const [row] = await sql<{ id: string }[]>`select tenant_id as id from instance`
  return row?.id ?? ''
}

/** An entry whose values try the escapes of COPY and of JSON. */
async function addEntry(sql: Sql, target: string, at = new Date()): Promise<void> {
  const after = { text: 'a\\b\n"c"\t\u0001, d' }
  await sql`
    insert into audit_event (tenant_id, at, actor, action, target, after)
    values (${await readTenant(sql)}, ${at}, ${sql.json({ kind: 'operator' })}, 'try', ${target}, ${sql.json(after)})`
}

async function addChange(sql: Sql, revision: number, at = new Date()): Promise<void> {
  const tenant = await readTenant(sql)
  await sql`
    insert into change_log (tenant_id, revision, at, entity, entity_id, kind)
    values (${tenant}, ${revision}, ${at}, 'group', ${String(revision)}, 'created')`
  await sql`
    insert into revision_counter as c (tenant_id, value) values (${tenant}, ${revision})
    on conflict (tenant_id) do update set value = excluded.value`
}

const placeOf = (sql: Sql, table: 'audit_event' | 'change_log') =>
  sql<{ place: string; count: number }[]>`
    select tableoid::regclass::text as place, count(*)::int as count from ${sql(table)} group by 1 order by 1`

forEachCluster((cluster) => {
  clause(
    'SVC-81',
    'Audit and change log are in partitions by time. A store from before keeps every row, with its id, and ids go on.…',
    async () => {
      await using test = await createEmptyDatabase(cluster)
      const { database } = test
      const { sql } = database
      const migrations = readMigrations()
      const at = migrations.findIndex(({ name }) => name === 'partitioned-logs')
      await migrate(database, migrations.slice(0, at))
      await addEntry(sql, '/old', later(-400))
      await addEntry(sql, '/new')
      await addChange(sql, 1, later(-40))
      await addChange(sql, 2)
      const read = async () => ({
        entries: (
          await sql`select id, at, actor, action, target, before, after, request_id from audit_event order by id`
        ).map((row) => ({ ...row })),
        changes: (await sql`select * from change_log order by revision`).map((row) => ({ ...row })),
      })
      const before = await read()
      await migrate(database)
      assert.deepEqual(await read(), before)
      assert.deepEqual([...(await placeOf(sql, 'audit_event'))], [{ place: 'audit_event_first', count: 2 }])
      assert.deepEqual([...(await placeOf(sql, 'change_log'))], [{ place: 'change_log_first', count: 2 }])

      await addEntry(sql, '/next')
      await addEntry(sql, '/in three months', later(89))
      await addEntry(sql, '/in half a year', later(180))
      const [newest] = await sql`select id from audit_event where target = '/next'`
      assert.equal(newest?.id, before.entries.at(-1)?.id + 1)
      const places = (await placeOf(sql, 'audit_event')).map(({ place }) => place)
      assert.equal(places.length, 3)
      assert.deepEqual(
        places.filter((place) => !/_\d{4}_\d\d_\d\d$/.test(place)),
        ['audit_event_default', 'audit_event_first'],
      )
      // Entries that came while no partition was there for them move into their own.
      const made = await database.transaction((tx) => keepPartitions(tx, later(180)))
      assert.ok(made > 20)
      assert.ok((await placeOf(sql, 'audit_event')).every(({ place }) => place !== 'audit_event_default'))
      assert.deepEqual(
        await Promise.all([1, 2].map(() => database.transaction((tx) => keepPartitions(tx)))),
        [0, 0],
      )
    },
  )

  clause(
    'SVC-82',
    'Audit entries are kept for `MASQUERADE_AUDIT_LOG_DAYS`, for ever unless it is set, and go by whole months.…',
    async () => {
      await using test = await createTestDatabase(cluster)
      const { database } = test
      const { sql } = database
      const tenantId = await readTenant(sql)
      for (const [target, days] of [
        ['/a', -400],
        ['/b', -40],
        ['/c', 0],
      ] as const)
        await addEntry(sql, target, later(days))
      const [first] = await listPartitions(sql, 'audit_event')
      const due = new Date((first?.end.getTime() ?? 0) + 90 * dayMs)
      const none = await dropOldAudits(database, 90, undefined, new Date(due.getTime() - 1))
      assert.equal(none, 0)

      const blocked = join(folder, `file-${cluster}`)
      writeFileSync(blocked, '')
      await assert.rejects(
        dropOldAudits(database, 90, createArchive(blocked, tenantId), due),
        /EEXIST|ENOTDIR/,
      )
      const count = async () => (await sql`select from audit_event`).length
      assert.equal(await count(), 3, 'a month that could not be archived stays')

      const place = join(folder, `archive-${cluster}`)
      assert.equal(await dropOldAudits(database, 90, createArchive(place, tenantId), due), 1)
      assert.deepEqual(
        (await sql`select target from audit_event`).map(({ target }) => target),
        ['/c'],
      )
      const name = `${tenantId}-audit_event_first.jsonl.gz`
      assert.deepEqual(readdirSync(place), [name])
      assert.equal(statSync(join(place, name)).mode & 0o777, 0o600)
      const lines = gunzipSync(readFileSync(join(place, name)))
        .toString()
        .trimEnd()
        .split('\n')
      const entries = lines.map((line) => JSON.parse(line))
      assert.deepEqual(
        entries.map(({ target }) => target),
        ['/a', '/b'],
      )
      assert.equal(entries[0].after.text, 'a\\b\n"c"\t\u0001, d')
      await addEntry(sql, '/of the past', later(-400))
      assert.equal(await count(), 2, 'an entry with an old time finds a place')
    },
  )

  clause(
    'SVC-83',
    'Changes of the directory go by whole weeks, a day after no delta token can need them. The newest entry stays.…',
    async () => {
      await using test = await createTestDatabase(cluster)
      const { database } = test
      const tenantId = await readTenant(database.sql)
      await addChange(database.sql, 1, later(-60))
      const drop = (days: number) => dropOldChanges(database, tenantId, 30, later(days))
      assert.equal(await drop(400), 0, 'the newest entry stays, however old')
      await addChange(database.sql, 2)
      assert.equal(await drop(0), 0, 'an entry of the present week may be younger')
      assert.equal(await drop(45), 1)
      const left = await database.sql`select revision from change_log`
      assert.deepEqual(
        left.map(({ revision }) => revision),
        [2],
      )
    },
  )
})

clause(
  'SVC-84',
  '`masquerade audit export FILE` writes the audit, or that of a time, as lines of JSON, the oldest first,…',
  async () => {
    await using test = await createTestDatabase()
    const { sql } = test.database
    for (const days of [-30, -20, -10]) await addEntry(sql, `/day${days}`, later(days))
    const environment = { MASQUERADE_DATABASE_URL: test.url, MASQUERADE_DATA_DIR: join(folder, 'data') }
    const run = (...args: string[]) => runHere(['audit', 'export', ...args], { environment })
    const targets = (text: string) =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).target)
    const all = await run('-')
    assert.equal(all.code, 0, all.stderr)
    assert.deepEqual(targets(all.stdout), ['/day-30', '/day-20', '/day-10'])
    const file = join(folder, 'part.jsonl.gz')
    const elsewhere = join(folder, 'elsewhere')
    writeFileSync(elsewhere, 'untouched')
    symlinkSync(elsewhere, `${file}.new`)
    const times = ['--since', later(-25).toISOString(), '--until', '15d']
    const part = await run(file, '--gzip', '--json', ...times)
    assert.equal(part.code, 0, part.stderr)
    assert.deepEqual(JSON.parse(part.stdout), { file, entries: 1 })
    assert.deepEqual(targets(gunzipSync(readFileSync(file)).toString()), ['/day-20'])
    assert.equal(lstatSync(file).mode & 0o777, 0o600)
    assert.ok(lstatSync(file).isFile())
    assert.equal(readFileSync(elsewhere, 'utf8'), 'untouched')
    assert.equal((await run()).code, 2)
    assert.equal((await run('-', '--since', 'yesterday')).code, 2)
    assert.equal((await run(join(folder, 'missing/x'))).code, 1)
  },
)
