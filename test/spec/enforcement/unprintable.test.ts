import assert from 'node:assert/strict'
import type { Exposure } from '../../../src/enforcement/exposures/exposure.ts'
import { findExposures } from '../../../src/enforcement/exposures/find-exposures.ts'
import { findImpact } from '../../../src/enforcement/impact/find-impact.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster, forUsualCluster } from '../../support/postgres.ts'

/** What the list has, without the relations: `CODE object`. */
const listFound = (found: readonly Exposure[]) =>
  found.map(({ code, objects }) => `${code} ${objects.map(({ name }) => name).join(' ')}`)

async function createTarget(cluster: Parameters<typeof createMaskedDatabase>[0]) {
  const target = await createMaskedDatabase(cluster)
  const mallory = await target.createRole('mallory')
  await target.createRole('reader')
  await target.database.sql.unsafe(`create schema app; grant usage on schema app to "${mallory}"; create schema lair authorization "${mallory}";
    create table app.person (id int, mail text); insert into app.person values (7, 'raw'); grant select on app.person to "${mallory}";
    create function app.show() returns text language sql security definer begin atomic select mail from app.person; end`)
  const act = (text: string) => target.runAs('mallory', text)
  await act('create table lair.own (id int, mail text); grant usage on schema lair to public')
  const rules = policy([rule('app.person.mail'), rule('lair.own.mail')])
  return Object.assign(target, { act, rules, look: () => findExposures(target.database, rules) })
}

forEachCluster((cluster) => {
  clause(
    'ENF-385',
    'Expressions and bodies of functions that PostgreSQL cannot print, as a type that they have was dropped, keep neither exposures …',
    async () => {
      await using target = await createTarget(cluster)
      const { database, act, rules } = target
      const broken = 'cardinality(array[]::lair.lost[])'
      await act(`create table lair.lost (id int); alter table lair.own enable row level security;
        create function lair.broken() returns int language sql begin atomic select ${broken}; end;
        create function lair.hidden() returns text language sql security definer begin atomic select mail from lair.own where ${broken} = 0; end;
        create function lair.setting() returns text language sql begin atomic select current_setting('a.b', true) where ${broken} = 0; end;
        create policy direct on lair.own using (${broken} = 0 and mail = current_setting('a.b', true));
        create policy called on lair.own using (mail = lair.setting());
        create policy run on lair.own using (mail = query_to_xml('select current_setting(1)', true, true, '')::text and ${broken} = 0);
        create policy plain on lair.own using (mail = 'x');
        create policy certain on lair.own to current_user using (${broken} = 0);
        create table lair.parted (id int, mail text) partition by range ((id + ${broken}), mail); grant update on lair.parted to public`)
      const all = policy([...rules.rules, rule('lair.parted.mail')])
      await reconcile(database, all)
      await act('drop table lair.lost')

      const found = await findExposures(database, all)
      const listed = listFound(found)
      assert.ok(listed.includes('SecurityDefinerFunction app.show()'))
      const hidden = found.find(({ objects }) => objects[0]?.name === 'lair.hidden()')
      assert.equal(hidden?.severity, 'high')
      const settings = listed.filter((one) => one.startsWith('RowPolicyOracle'))
      assert.deepEqual(
        settings,
        ['called', 'direct', 'run'].map((name) => `RowPolicyOracle "${name}" "lair"."own"`),
      )
      const certain = found.find(({ code }) => code === 'RowPolicyByRole')
      assert.deepEqual([certain?.objects[0]?.name, certain?.remedy], ['"certain"', null])
      await findImpact(database, all, {
        databaseId: 'none',
        nameOwner: async () => null,
        hasRival: async () => false,
      })
    },
  )

  clause(
    'ENF-386',
    'A lock on a relation that such an expression reads, or on a published table, keeps neither exposures nor an impact from being found.…',
    async () => {
      await using target = await createTarget(cluster)
      const { act, look } = target
      await act(`create table lair.held (id int); alter table lair.own enable row level security;
        create function lair.reads() returns bigint language sql begin atomic select count(*) from lair.held; end;
        create policy certain on lair.own to current_user using (exists (select from lair.held))`)
      const publication = `sent_${target.role('x')}`
      await target.database.sql.unsafe(`create publication ${publication} for all tables`)
      await target.connectAs('mallory').transaction(async (tx) => {
        await tx.unsafe('lock table lair.held in access exclusive mode')
        const listed = listFound(await look())
        assert.ok(listed.includes('SecurityDefinerFunction app.show()'))
        assert.ok(listed.includes('RowPolicyByRole "certain" "lair"."own"'))
        assert.ok(listed.includes(`Publication "${publication}" "app"."person"`))
      })
    },
  )
})

forUsualCluster((cluster) => {
  clause(
    'ENF-387',
    'Stored expressions are searched up to a length when exposures are found: a longer one counts as naming every column.…',
    async () => {
      await using target = await createTarget(cluster)
      const { database, act } = target
      // One constant, quick to parse: PostgreSQL stores each of its bytes as a number and a space. It compresses the digits least.
      const writeLong = (statement: string, more = 0) =>
        act(`do $do$ begin execute replace($$${statement}$$, 'LONG', repeat('x', ${more}) ||
          (select string_agg(n::text, '') from generate_series(1, 300000) n)); end $do$`)
      await act(`create table lair.ruled (id int, mail text); insert into lair.ruled values (1, 'raw');
        alter table lair.ruled enable row level security; grant select, update on lair.ruled, lair.own to public`)
      const reader = target.role('reader')
      await writeLong(
        `create policy long on lair.ruled as restrictive to ${reader} using (id::text <> 'LONG')`,
        7_000_000,
      )
      const rules = policy([...target.rules.rules, rule('lair.ruled.mail')])
      await reconcile(database, rules)
      assert.deepEqual(await target.runAs('reader', 'select * from masked_lair.ruled'), [])
      await writeLong(`alter table lair.own add check (id::text <> 'LONG')`)
      const listed = listFound(await findExposures(database, rules))
      assert.ok(
        listed.some((one) => one.startsWith('CheckOracle "lair"."own"')),
        listed.join('\n'),
      )
      assert.ok(listed.includes('RowPolicyOracle "long" "lair"."ruled"'), listed.join('\n'))
    },
  )
})
