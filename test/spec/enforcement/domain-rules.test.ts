import assert from 'node:assert/strict'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'

clause(
  'ENF-215',
  'A rule for a column of a domain that is added to a masked table, or removed from it, leaves the…',
  async () => {
    await using target = await createMaskedDatabase()
    const analyst = await target.createRole('analyst')
    await target.database.sql.unsafe(`
      create domain public.code as text check (value <> 'bad');
      create table public.person (id int primary key, email text, code public.code);
      insert into public.person values (1, 'ann@example.com', 'raw');
      create view public.people as select id, code from public.person;
      grant usage on schema public to public; grant select on public.person, public.people to "${analyst}"`)
    const { sql } = target.connectAs('analyst')
    const mask = async (...columns: string[]) => {
      const rules = columns.map((column) => rule(`public.person.${column}`))
      await reconcile(target.database, policy(rules))
      const { steps } = await reconcile(target.database, policy(rules))
      assert.deepEqual(steps, [], columns.join())
      const [person] = await sql`select email, code from masked_public.person`
      const [seen] = await sql`select code from masked_public.people`
      return [person?.email, person?.code, seen?.code]
    }
    assert.deepEqual(await mask('email'), ['XXXX', 'raw', 'raw'])
    assert.deepEqual(await mask('email', 'code'), ['XXXX', 'XXXX', 'XXXX'])
    assert.deepEqual(await mask('email'), ['XXXX', 'raw', 'raw'])
  },
)
