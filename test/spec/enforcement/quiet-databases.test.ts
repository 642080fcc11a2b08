import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { CatalogWatch, readActivity, unseen } from '../../../src/masks/control/watch-catalogs.ts'
import { clause } from '../../support/clause.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { freshDatabase, useMasking } from '../../support/masking.ts'
import { promised, waitUntil } from '../../support/wait-until.ts'

describe('databases in which nothing changes', () => {
  const masking = useMasking()

  clause(
    'ENF-555',
    "Every two seconds at most the service reads PostgreSQL's counters of catalog writes, and finds a change by…",
    async () => {
      await using target = await createMaskedDatabase()
      const { sql } = target.database
      const [analyst] = [await target.createRole('analyst')]
      const binder = await target.createRole('binder', 'LOGIN CREATEROLE')
      await sql.unsafe(`create schema app; grant usage on schema app to public;
        create table app.person (id int, mail text); insert into app.person values (1, 'raw');
        alter table app.person owner to "${binder}"; grant select on app.person to "${analyst}"`)
      await sql.unsafe(`grant create on database "${target.url.replace(/^.*\//, '')}" to "${binder}"`)
      const db = freshDatabase()
      const binding = bindingOf(target.urlOf('binder'))
      assert.equal((await masking.send('PUT', db, { properties: { binding } })).status, 201)
      const column = { schemaName: 'app', tableName: 'person', columnName: 'mail' }
      const put = await masking.putRule(db, 'mail', { ...column, maskingFunction: 'Default' })
      assert.equal(put.headers.get('x-masquerade-enforcement'), 'Enforced', put.text)
      const [trigger] = await sql`select from pg_event_trigger where evtname like 'masquerade%'`
      assert.equal(trigger, undefined)

      const before = await readActivity(sql)
      const from = Date.now()
      await sql.unsafe(`grant select on app.person to "${analyst}"`)
      await waitUntil('the counters move', async () => (await readActivity(sql)) !== before)
      await waitUntil('the grant is one of the masked data', async () =>
        target
          .connectAs('analyst')
          .sql.unsafe('select mail from app.person')
          .then(
            () => false,
            () => true,
          ),
      )
      // PostgreSQL counts after ten seconds at most, and the service reads two later.
      assert.ok(Date.now() - from < promised(24_000), `${Date.now() - from} ms`)
    },
  )

  clause(
    'ENF-555',
    "Every two seconds at most the service reads PostgreSQL's counters of catalog writes, and finds a change by…",
    async (t) => {
      let now = 1
      t.mock.method(performance, 'now', () => now)
      let seen = { ...unseen, activity: '1' }
      const audited: string[] = []
      const waysGiven: string[] = []
      const [audit, giveWay] = [(id: string) => audited.push(id), (id: string) => waysGiven.push(id)]
      const parts = { read: async () => seen, audit, giveWay }
      const watch = new CatalogWatch({ ...parts, auditEveryMs: 30_000 })
      const looked = (activity: string) => {
        const quiet = { activity, lastChange: 7 }
        watch.watch('a', { guard: null, quiet, needsLook: false })
      }
      const read = async (ms: number) => {
        now += ms
        await watch.readDue(['a'])
        return audited.splice(0)
      }
      assert.equal(await watch.isQuiet('a', 7), false)
      looked('1')
      assert.equal(await watch.isQuiet('a', 7), true)
      assert.equal(await watch.isQuiet('a', 8), false, 'another policy')
      assert.deepEqual(await read(2_000), [])
      seen = { ...unseen, activity: '2' }
      assert.deepEqual(await read(1_000), [], 'not due')
      assert.deepEqual(await read(1_000), ['a'])
      assert.equal(await watch.isQuiet('a', 7), false, 'nothing is known before the next full look')
      // Counters that always move make looks rare.
      looked('1')
      assert.deepEqual([await read(2_000), await read(2_000)], [[], ['a']])
      // After changes of our own a full look comes, eight seconds after the first of a burst.
      const change = () => watch.watch('a', { guard: null, quiet: null, needsLook: true })
      change()
      assert.deepEqual(await read(7_000), [])
      change()
      assert.deepEqual(await read(2_000), ['a'])
      looked('2')
      now += 599_000
      assert.equal(await watch.isQuiet('a', 7), true)
      now += 2_000
      assert.equal(await watch.isQuiet('a', 7), false, 'a full look is due')
      // What an event trigger noted is looked at whatever the counters say.
      watch.watch('a', { guard: 'masquerade_guard', quiet: null, needsLook: false })
      seen = { ...unseen, activity: '2', hasDrift: true }
      assert.deepEqual(await read(2_000), ['a'])

      assert.deepEqual(waysGiven, [])
      seen = { ...seen, isAwaited: true }
      await read(2_000)
      assert.deepEqual(waysGiven, ['a'])

      const frequent = new CatalogWatch({ ...parts, auditEveryMs: 12_000 })
      frequent.watch('a', { guard: null, quiet: { activity: '2', lastChange: 7 }, needsLook: false })
      assert.equal(await frequent.isQuiet('a', 7), false)
    },
  )
})
