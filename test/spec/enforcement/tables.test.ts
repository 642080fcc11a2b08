import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

forEachCluster((cluster) => {
  describe('a masked table', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let analyst: string
    let auditor: string
    before(async () => {
      target = await createMaskedDatabase(cluster)
      analyst = await target.createRole('analyst')
      auditor = await target.createRole('auditor')
      await target.database.sql.unsafe(`
        create table public.customers (id int primary key, email text, ssn varchar(11), salary numeric(8,2));
        insert into public.customers values (1, 'ann@example.com', '123-45-6789', 5000), (2, null, null, null);
        create view public.addresses as select c.id, c.email as address from public.customers c;
        grant usage on schema public to public;
        grant select on public.customers, public.addresses to "${analyst}", "${auditor}";
        grant insert on public.customers to "${analyst}"`)
    })
    after(() => target[Symbol.asyncDispose]())

    const rules = [rule('public.customers.email', 'Email'), rule('public.customers.ssn', 'SSN')]

    clause('ENF-61', 'Two turns in a row leave nothing to do for the second.', async () => {
      const outcome = await takeTurn(target.database, policy(rules, [auditor]))
      assert.ok(outcome.steps.length > 0)
      const again = await takeTurn(target.database, policy(rules, [auditor]))
      assert.deepEqual(again.steps, [])
    })

    test('shows masked values in the twin', async () => {
      const { sql } = target.connectAs('analyst')
      assert.deepEqual(await sql`select * from masked_public.customers order by id`, [
        { id: 1, email: 'aXXX@XXXX.com', ssn: 'XXX-XX-6789', salary: '5000.00' },
        { id: 2, email: null, ssn: null, salary: null },
      ])
      assert.deepEqual(await sql`select * from masked_public.addresses where id = 1`, [
        { id: 1, address: 'aXXX@XXXX.com' },
      ])
      assert.deepEqual(await sql`select id, salary from public.customers where id = 1`, [
        { id: 1, salary: '5000.00' },
      ])
    })

    test('denies the masked columns and the view itself', async () => {
      const { sql } = target.connectAs('analyst')
      await assert.rejects(sql`select email from public.customers`, /permission denied/)
      await assert.rejects(sql`select * from public.customers`, /permission denied/)
      await assert.rejects(sql`select * from public.addresses`, /permission denied/)
      await assert.rejects(sql`select id from public.customers where email like 'a%'`, /permission denied/)
    })

    test('leaves the exempt as they were', async () => {
      const { sql } = target.connectAs('auditor')
      assert.equal((await sql`select email from public.customers where id = 1`)[0]?.email, 'ann@example.com')
      assert.equal(
        (await sql`select address from public.addresses where id = 1`)[0]?.address,
        'ann@example.com',
      )
    })

    test('closes a view that cannot have a twin, says so, and does not try again', async () => {
      await target.database.sql.unsafe(`
        create view public.per_customer as select c.id, c.email, count(*) from public.customers c group by c.id;
        grant select on public.per_customer to "${analyst}", "${auditor}"`)
      const outcome = await takeTurn(target.database, policy(rules, [auditor]))
      assert.deepEqual(
        outcome.notes.map(({ code, target: at }) => [code, at]),
        [['NoTwin', 'public.per_customer']],
      )
      const { sql } = target.connectAs('analyst')
      await assert.rejects(sql`select * from public.per_customer`, /permission denied/)
      const again = await takeTurn(target.database, policy(rules, [auditor]))
      assert.deepEqual(again.steps, [])
      assert.equal(again.notes[0]?.code, 'NoTwin')
      const exempt = await target.connectAs('auditor').sql`select email from public.per_customer where id = 1`
      assert.equal(exempt[0]?.email, 'ann@example.com')
    })

    test('gives everything back', async () => {
      await takeTurn(target.database, policy([]))
      const { sql } = target.connectAs('analyst')
      assert.equal((await sql`select email from public.customers where id = 1`)[0]?.email, 'ann@example.com')
      const left = await target.database.sql`
        select nspname from pg_namespace where nspname like 'masked%' or nspname like 'masquerade%'`
      assert.deepEqual(left, [])
      assert.deepEqual((await takeTurn(target.database, policy([]))).steps, [])
    })
  })
})
