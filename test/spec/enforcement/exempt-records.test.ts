import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import {
  type KnownRole,
  recordEntries,
  selectRecords,
} from '../../../src/enforcement/grants/settle-exempt.ts'
import { PolicyReader } from '../../../src/enforcement/policy-reader.ts'
import { createEnforcementSource } from '../../../src/masking/enforcement/source.ts'
import { clause } from '../../support/clause.ts'
import { openExemptRecords } from '../../support/exempt-records.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { createTestDatabase, forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

type Options = ConstructorParameters<typeof PolicyReader>[0]

const named: KnownRole = { oid: null, isTaken: true, isPinned: false }
const plain: KnownRole = { oid: 5, isTaken: false, isPinned: true }

forEachCluster((cluster) => {
  const open = async () => {
    const store = await createTestDatabase(cluster)
    const { sql } = store.database
    const id = randomUUID()
    await sql`
      insert into masked_database (id, tenant_id, key, subscription_id, resource_group, server_name, name, location)
      values (${id}, ${randomUUID()}, 'k', 's', 'g', 'v', 'd', 'local')`
    const known = openExemptRecords(sql, id)
    return {
      ...store,
      id,
      known,
      /** A write of the policy, as far as records go. */
      record: (added: readonly string[], entries: readonly string[]) =>
        store.database.transaction(async (tx) => {
          await tx`select from masked_database where id = ${id} for update`
          await recordEntries(tx, id, { added, named: entries })
        }),
      rows: async () =>
        Object.fromEntries((await known.read()).map(({ entry, place, version, ...one }) => [entry, one])),
      isWaiting: async () => {
        const [row] = await sql`
          select count(*)::int as sessions from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        return row?.sessions === 1
      },
    }
  }
  const text =
    'A turn changes and removes no record of an exempt entry that a write of the policy or another turn made since it read the records…'

  // The entry was removed, and is added again while a turn removes its record.
  clause('ENF-326', text, async () => {
    await using store = await open()
    await using target = await createMaskedDatabase(cluster)
    const { sql } = store.database
    let lists = 0
    const source = createEnforcementSource({
      database: store.database,
      selectRecords,
      // Comes behind the list.
      async findExempt(_: string, entries: readonly string[]) {
        if (++lists === 1) {
          await sql`update masked_database set exempt_principals = 'lea' where id = ${store.id}`
          await store.record(['lea'], ['lea'])
        }
        return { roles: [], principals: [], named: entries }
      },
    } as unknown as Parameters<typeof createEnforcementSource>[0])
    const reader = new PolicyReader({
      source,
      states: { exemptRolesOf: () => store.known },
    } as unknown as Options)
    await store.record(['lea'], ['lea'])
    const { namedEntries } = await reader.read(target.database.sql, store.id)
    assert.deepEqual(await store.rows(), { lea: named })
    assert.deepEqual(namedEntries, ['lea'])
    assert.equal(lists, 2)
  })

  // Removed and added again in between. Both records are of no place.
  clause('ENF-326', text, async () => {
    await using store = await open()
    await store.record(['lea'], ['lea'])
    const read = await store.known.read()
    await store.record(['lea'], ['lea'])
    assert.equal(await store.known.write('', new Map(), read), false)
    assert.equal(await store.known.write('1/2', new Map([['lea', plain]]), read), false)
    assert.equal(await store.known.write('1/2', new Map([['lea', plain]]), []), false)
    assert.deepEqual(await store.rows(), { lea: named })
    // An entry that is added again, and names no object now.
    const again = await store.known.read()
    await store.record(['lea'], [])
    assert.equal(await store.known.write('1/2', new Map([['lea', named]]), again), false)
    assert.deepEqual(await store.rows(), {})
    assert.equal(await store.known.write('1/2', new Map([['lea', plain]]), await store.known.read()), true)
    assert.deepEqual(await store.rows(), { lea: plain })
    assert.equal(await store.known.write('', new Map(), await store.known.read()), true)
    assert.deepEqual(await store.rows(), {})
  })

  // The write is under way while a turn changes, removes and adds records.
  clause(
    'ENF-328',
    'Turns and writes of the policy lock records of exempt entries in one order…',
    async () => {
      await using store = await open()
      const { id, known } = store
      await known.write(
        '1/2',
        new Map([
          ['changed', plain],
          ['removed', plain],
        ]),
        [],
      )
      const read = await known.read()
      const next = new Map([
        ['added', plain],
        ['changed', { oid: 6, isTaken: false, isPinned: false }],
      ])
      let writing: Promise<boolean> | undefined
      await store.database.transaction(async (tx) => {
        await tx`select from masked_database where id = ${id} for update`
        writing = known.write('1/2', next, read)
        await waitUntil('the turn waits', store.isWaiting)
        await recordEntries(tx, id, { added: [], named: ['added', 'changed', 'removed'] })
      })
      assert.equal(await writing, false)
      assert.deepEqual(await store.rows(), { added: named, changed: named, removed: named })
    },
  )
})
