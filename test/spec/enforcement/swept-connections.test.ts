import assert from 'node:assert/strict'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { checkVersion, examine } from '../../../src/findings/preflight.ts'
import { type BoundTarget, Connections } from '../../../src/masks/control/connections.ts'
import { readSeen } from '../../../src/masks/control/watch-catalogs.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { waitUntil } from '../../support/wait-until.ts'

const neverEnds = new Promise<void>(() => {})

clause(
  'ENF-430',
  'A server that hangs when its database is not bound any more delays neither the audits of other databases nor the end of the connections to them…',
  async (t) => {
    const bound = new Set(['hangs', 'hangs too', 'answers', 'stays'])
    const closed: string[] = []
    const connectTo = (id: string) =>
      ({
        close: () => {
          closed.push(id)
          return id.startsWith('hangs') ? neverEnds : Promise.resolve()
        },
      }) as unknown as Database
    const connections = new Connections(
      {
        find: async (id) =>
          bound.has(id) ? ({ key: '1', connect: () => connectTo(id) } as BoundTarget) : null,
        claimantOf: () => ({ nameOwner: async () => null }),
      },
      { checkVersion, examine },
      () => {},
    )
    for (const id of bound) await connections.open(id)
    for (const id of ['hangs', 'hangs too', 'answers']) bound.delete(id)
    const later = performance.now() + 31_000
    t.mock.method(performance, 'now', () => later)
    // Audits that are due begin after it.
    const swept = connections.sweep().then(() => 'swept')
    const late = new Promise((resolve) => setImmediate(() => setImmediate(resolve, 'late')))
    assert.equal(await Promise.race([swept, late]), 'swept')
    assert.deepEqual(closed, ['hangs', 'hangs too', 'answers'])
    assert.ok(await connections.open('stays'))
  },
)

clause(
  'ENF-572',
  'A transaction with the locks that this takes is kept open for each node, and begun anew twice a minute. An operator who waits for one of these locks, as VACUUM FULL does, has it within seconds.',
  async (t) => {
    await using target = await createMaskedDatabase()
    const { sql } = target.database
    const connect = () =>
      openDatabase({
        url: target.url,
        searchPath: 'pg_catalog',
        applicationName: 'kept',
        foreign: { keep: 3 },
      })
    const connections = new Connections(
      {
        find: async () => ({ key: '1', connect, isReached: true }) as unknown as BoundTarget,
        claimantOf: () => ({ nameOwner: async () => null }),
      },
      { checkVersion, examine },
      () => {},
    )
    const listOpen = async () => {
      const rows = await sql<{ pid: number }[]>`
        select pid from pg_stat_activity where application_name = 'kept' and datname = current_database()
          and state = 'idle in transaction' and backend_xmin is null and xact_start < now() - interval '100 ms'`
      return rows.map(({ pid }) => pid)
    }
    await connections.openFit('one')
    await waitUntil('it is kept', async () => (await listOpen()).length === 1)
    const [first] = await listOpen()
    const now = performance.now.bind(performance)
    let laterMs = 31_000
    t.mock.method(performance, 'now', () => now() + laterMs)
    await connections.sweep()
    await waitUntil('another one is kept', async () => {
      const open = await listOpen()
      return open.length === 1 && open[0] !== first
    })
    const isHeld = target.database.transaction(async (tx) => {
      await tx`lock table pg_catalog.pg_auth_members in access exclusive mode`
    })
    await waitUntil('the operator waits', async () => {
      const waiting =
        await sql`select from pg_locks where relation = 'pg_auth_members'::regclass and not granted`
      return waiting.length === 1
    })
    assert.equal((await readSeen(sql, null)).isAwaited, true)
    connections.giveWay('one')
    await isHeld
    assert.equal((await readSeen(sql, null)).isAwaited, false)
    laterMs += 31_000
    await connections.sweep()
    await waitUntil('one is kept again', async () => (await listOpen()).length === 1)
    await connections.close()
  },
)
