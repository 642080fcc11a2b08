import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { openDatabase } from '../../../src/db/database.ts'
import type { Policy } from '../../../src/masks/policy.ts'
import { type TurnResult, takeTurn } from '../../../src/masks/turn.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { listPrivileges } from '../../support/privileges.ts'
import { promised } from '../../support/wait-until.ts'

const tables = `
  drop schema if exists public cascade; create schema public; grant usage on schema public to public;
  create domain public.code as text check (value ~ '^X+$');
  create table public.people (id int, mail text, pay int, code public.code, twice int generated always as (pay * 2) stored);
  insert into public.people values (1, 'raw', 5, 'XX');
  create table public.parts (id int, mail text) partition by list (id);
  create table public.parts_1 partition of public.parts for values in (1);
  insert into public.parts values (1, 'raw');
  create view public.names as select id, mail from public.people;
  create view public.pairs as select n.mail, p.mail as other from public.names n join public.parts p using (id);
  create view public.grouped as select p.id, p.mail from public.parts_1 p group by p.id, p.mail;
  create materialized view public.copy as select mail from public.people;
  create table public.bystander (id int)`

forEachCluster((cluster) => {
  describe('a turn of the masks', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    const role = {} as Record<'owner' | 'ann' | 'bea' | 'staff' | 'auditor', string>
    const run = (text: string) =>
      target.database.sql.unsafe(
        text.replace(/:(\w+)/g, (all, name: string) => (name in role ? `"${role[name as 'ann']}"` : all)),
      )
    const rules = [rule('public.people.mail'), rule('public.people.pay'), rule('public.parts.mail')]
    const wanted = (some = rules) => policy(some, [role.auditor])
    const names = () => Object.values(role)
    const reads = (name: 'ann' | 'bea' | 'auditor', text: string) =>
      target.runAs(name, text).then(
        (rows) => rows.map((row) => Object.values(row)[0]),
        (error: Error) => (/permission denied/.test(error.message) ? 'denied' : error.message),
      )
    const mask = async (one: Policy = wanted()): Promise<TurnResult> => {
      const result = await takeTurn(target.database, one)
      assert.deepEqual(result.unfinished, [])
      assert.deepEqual((await takeTurn(target.database, one)).steps, [], 'a second turn has nothing to do')
      return result
    }

    before(async () => {
      target = await createMaskedDatabase(cluster)
      for (const name of ['owner', 'ann', 'bea', 'auditor'] as const)
        role[name] = await target.createRole(name)
      role.staff = await target.createRole('staff', 'NOLOGIN')
      await run('grant :staff to :ann, :auditor')
    })
    beforeEach(async () => {
      await takeTurn(target.database, policy([]))
      await run(tables)
      await run(`alter table public.parts owner to :owner; alter table public.parts_1 owner to :owner;
        grant select on all tables in schema public to :staff; grant select, insert on public.people to :bea with grant option;
        grant select (id, mail) on public.parts to public; grant references (id) on public.people to :ann`)
    })
    after(() => target[Symbol.asyncDispose]())

    test('hides, shows masks, and gives back every privilege as it was', async () => {
      const before = await listPrivileges(target.database, names())
      await mask()
      for (const name of ['people', 'parts', 'parts_1', 'names', 'pairs', 'grouped', 'copy'])
        assert.equal(await reads('ann', `select mail from public.${name}`), 'denied', name)
      for (const name of ['people', 'parts', 'parts_1', 'names', 'pairs', 'grouped', 'copy'])
        assert.deepEqual(await reads('ann', `select mail from masked_public.${name}`), ['XXXX'], name)
      assert.deepEqual(await reads('ann', 'select id from public.people'), [1])
      assert.equal(await reads('ann', 'select twice from public.people'), 'denied')
      assert.deepEqual(await reads('ann', 'select twice from masked_public.people'), [0])
      assert.deepEqual(await reads('auditor', 'select mail from public.pairs'), ['raw'])
      await mask(policy([]))
      assert.deepEqual(await listPrivileges(target.database, names()), before)
    })

    test('takes a REVOKE and a GRANT by hand as meant', async () => {
      await mask()
      await run('revoke select on public.people from :bea cascade; grant select on public.parts_1 to :bea')
      await mask()
      assert.equal(await reads('bea', 'select id from masked_public.people'), 'denied')
      assert.deepEqual(await reads('bea', 'select mail from masked_public.parts_1'), ['XXXX'])
      assert.equal(await reads('bea', 'select mail from public.parts_1'), 'denied')
      await mask(policy([]))
      assert.equal(await reads('bea', 'select mail from public.people'), 'denied')
      assert.deepEqual(await reads('bea', 'select mail from public.parts_1'), ['raw'])
    })

    test('follows renamed columns and tables, and makes an edited twin anew', async () => {
      await mask()
      await run(
        'alter table public.people rename column mail to post; alter table public.parts_1 rename to first_part',
      )
      await mask()
      assert.deepEqual(await reads('ann', 'select post from masked_public.people'), ['XXXX'])
      assert.deepEqual(await reads('ann', 'select mail from masked_public.first_part'), ['XXXX'])
      await run('create or replace view masked_public.names as select id, post as mail from public.people')
      await mask()
      assert.deepEqual(await reads('ann', 'select mail from masked_public.names'), ['XXXX'])
    })

    test('a locked relation delays neither a rule nor the end of an exemption on others', async () => {
      await mask()
      const holder = openDatabase({ url: target.url, poolSize: 1, searchPath: 'public' })
      const { promise: held, resolve: hold } = Promise.withResolvers<void>()
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      const holding = holder.transaction(async (tx) => {
        await tx`lock table public.grouped in access exclusive mode`
        hold()
        await released
      })
      await held
      try {
        const before = performance.now()
        const result = await takeTurn(target.database, policy([...rules, rule('public.people.id')], []))
        assert.ok(performance.now() - before < promised(8_000))
        assert.ok(
          result.unfinished.every(({ target }) => /parts_1|grouped/.test(target)),
          JSON.stringify(result.unfinished),
        )
        assert.equal(await reads('ann', 'select id from public.people'), 'denied')
        assert.equal(await reads('auditor', 'select mail from public.people'), 'denied')
      } finally {
        release()
        await holding
        await holder.close()
      }
      await mask(policy([...rules, rule('public.people.id')], []))
    })

    test('that stops between any two statements leaves nothing open, and the next turn heals it', async () => {
      await mask()
      const more = policy(
        [...rules, rule('public.people.id', 'Number', { numberFrom: '7', numberTo: '7' })],
        [],
      )
      for (let at = 0; ; at++) {
        let isStopped = false
        const beforeStep = (step: number) => {
          if (step !== at) return
          isStopped = true
          throw new Error('stopped')
        }
        await takeTurn(target.database, more, { beforeStep }).catch(() => {})
        assert.equal(await reads('ann', 'select mail from public.people'), 'denied', `stopped at ${at}`)
        assert.notDeepEqual(
          await reads('ann', 'select mail from masked_public.people'),
          ['raw'],
          `stopped at ${at}`,
        )
        if (!isStopped) break
        await mask(more)
        assert.deepEqual(await reads('ann', 'select id from masked_public.people'), [7])
        await mask()
      }
      await mask(more)
    })
  })
})
