import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { takeTurn } from '../../../src/masks/turn.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

forEachCluster((cluster) => {
  describe('drift', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let analyst: string
    let auditor: string
    let newcomer: string
    before(async () => {
      target = await createMaskedDatabase(cluster)
      analyst = await target.createRole('analyst')
      auditor = await target.createRole('auditor')
      newcomer = await target.createRole('newcomer')
      await target.database.sql.unsafe('grant usage on schema public to public')
    })
    after(() => target[Symbol.asyncDispose]())

    const rules = [rule('public.person.email', 'Email')]
    const enforce = () => takeTurn(target.database, policy(rules, [auditor]))
    const run = (text: string) => target.database.sql.unsafe(text)
    const seenBy = async (name: string, query: string) => {
      const session = target.connectAs(name)
      try {
        return await session.sql.unsafe(query)
      } finally {
        await session.close()
      }
    }
    const denied = (name: string, query: string) => assert.rejects(seenBy(name, query), /permission denied/)

    beforeEach(async () => {
      await takeTurn(target.database, policy([]))
      await run(`
        drop table if exists public.person cascade;
        create table public.person (id int, email text, phone text);
        insert into public.person values (1, 'ann@example.com', '555');
        grant select on public.person to "${analyst}", "${auditor}"`)
      await enforce()
    })

    /** Repaired once, nothing to do after. */
    const repair = async () => {
      const { steps, notes } = await enforce()
      assert.ok(steps.length > 0, 'the drift was not found')
      assert.deepEqual((await enforce()).steps, [])
      return notes
    }

    test('a table-level grant by hand becomes a grant of the masked data', async () => {
      await run(`grant select on public.person to "${newcomer}", "${analyst}"`)
      await repair()
      await denied('newcomer', 'select email from public.person')
      await denied('analyst', 'select email from public.person')
      assert.equal(
        (await seenBy('newcomer', 'select email from masked_public.person'))[0]?.email,
        'aXXX@XXXX.com',
      )
    })

    test('a grant of the masked column by hand is taken back', async () => {
      await run(`grant select (email) on public.person to "${analyst}", public`)
      await repair()
      await denied('analyst', 'select email from public.person')
      await denied('newcomer', 'select email from public.person')
    })

    test('a revoke by hand is meant: the twin is closed too', async () => {
      await run(`revoke select on public.person from "${analyst}"`)
      await repair()
      await denied('analyst', 'select id from public.person')
      await denied('analyst', 'select id from masked_public.person')
    })

    test('a dropped twin comes back, with its grants', async () => {
      await run('drop view masked_public.person')
      await repair()
      assert.equal(
        (await seenBy('analyst', 'select email from masked_public.person'))[0]?.email,
        'aXXX@XXXX.com',
      )
    })

    test('an edited twin is put right', async () => {
      await run('create or replace view masked_public.person as select id, email, phone from public.person')
      await repair()
      assert.equal(
        (await seenBy('analyst', 'select email from masked_public.person'))[0]?.email,
        'aXXX@XXXX.com',
      )
    })

    test('a twin given to another owner is taken back', async () => {
      await run(
        `grant create on schema masked_public to "${newcomer}"; alter view masked_public.person owner to "${newcomer}"`,
      )
      await repair()
      await assert.rejects(seenBy('newcomer', `comment on view masked_public.person is 'x'`), /must be owner/)
      await assert.rejects(
        seenBy('newcomer', 'create or replace view masked_public.person as select 1'),
        /permission denied for schema masked_public/,
      )
    })

    test('a new column is closed until it is in the twin', async () => {
      await run("alter table public.person add column note text default 'plain'")
      await denied('analyst', 'select note from public.person')
      await repair()
      assert.equal((await seenBy('analyst', 'select note from public.person'))[0]?.note, 'plain')
      assert.equal((await seenBy('analyst', 'select note from masked_public.person'))[0]?.note, 'plain')
    })

    test('a renamed column stays masked, also when another takes its name', async () => {
      await run(`
        alter table public.person rename email to address;
        alter table public.person add column email text default 'new@example.com'`)
      const notes = await repair()
      assert.deepEqual(
        notes.map(({ code }) => code),
        ['ColumnRenamed'],
      )
      await denied('analyst', 'select address from public.person')
      await denied('analyst', 'select email from public.person')
      const [row] = await seenBy('analyst', 'select address, email from masked_public.person')
      assert.deepEqual(row, { address: 'aXXX@XXXX.com', email: 'nXXX@XXXX.com' })
    })

    test('a renamed table stays masked', async () => {
      await run('alter table public.person rename to human')
      await repair()
      await denied('analyst', 'select email from public.human')
      assert.equal(
        (await seenBy('analyst', 'select email from masked_public.human'))[0]?.email,
        'aXXX@XXXX.com',
      )
    })

    test('a table that was dropped and made again is masked again', async () => {
      await run(`
        drop table public.person cascade;
        create table public.person (email text, id int);
        insert into public.person values ('bob@example.com', 2);
        grant select on public.person to "${analyst}"`)
      await repair()
      await denied('analyst', 'select email from public.person')
      assert.equal(
        (await seenBy('analyst', 'select email from masked_public.person'))[0]?.email,
        'bXXX@XXXX.com',
      )
    })

    test('a role that joins an exempt one is exempt, and no longer when it leaves', async () => {
      await run(`grant "${auditor}" to "${newcomer}"`)
      await enforce()
      assert.equal((await seenBy('newcomer', 'select email from public.person'))[0]?.email, 'ann@example.com')
      await run(`revoke "${auditor}" from "${newcomer}"`)
      await enforce()
      await denied('newcomer', 'select email from public.person')
    })

    test('where everybody is exempt, a new role changes nothing; when that ends, sessions do', async () => {
      await takeTurn(target.database, policy(rules, ['public']))
      const late = await target.createRole(`late${Math.random().toString(36).slice(2)}`)
      assert.deepEqual((await takeTurn(target.database, policy(rules, ['public']))).steps, [])
      await enforce()
      const [row] = await run('select open from masquerade_guard.policy')
      const ending = row?.open.map(({ name }: { name: string }) => name)
      assert.ok(ending.includes(late) && ending.includes(analyst))
      assert.ok(!ending.includes(auditor))
      await run("update masquerade_guard.policy set open = '[]'")
    })

    test('a new view over the table is closed and gets a twin', async () => {
      await run(
        `create view public.addresses as select email from public.person; grant select on public.addresses to "${analyst}"`,
      )
      await repair()
      await denied('analyst', 'select * from public.addresses')
      assert.equal(
        (await seenBy('analyst', 'select email from masked_public.addresses'))[0]?.email,
        'aXXX@XXXX.com',
      )
    })

    test('a partition or child that comes later is closed too', async () => {
      await run(`create table public.employee () inherits (public.person);
        insert into public.employee values (3, 'eve@example.com', '1'); grant select on public.employee to "${analyst}"`)
      await repair()
      await denied('analyst', 'select email from public.employee')
      assert.equal(
        (await seenBy('analyst', 'select email from masked_public.employee'))[0]?.email,
        'eXXX@XXXX.com',
      )
      assert.equal((await seenBy('analyst', 'select count(*) as n from masked_public.person'))[0]?.n, 2)
    })

    test('default privileges of the table owner do not open a new twin or table', async () => {
      await run(`alter default privileges in schema public grant select on tables to "${newcomer}";
        create view public.later as select email from public.person`)
      await repair()
      await denied('newcomer', 'select * from public.later')
      assert.equal(
        (await seenBy('newcomer', 'select email from masked_public.later'))[0]?.email,
        'aXXX@XXXX.com',
      )
      await run(`alter default privileges in schema public revoke select on tables from "${newcomer}"`)
    })
  })
})
