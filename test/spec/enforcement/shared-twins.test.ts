import assert from 'node:assert/strict'
import { shadowName } from '../../../src/masks/names.ts'
import type { TurnOptions } from '../../../src/masks/turn.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { type ClusterName, majorOf } from '../../support/cluster.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

const canary = 'zqcanary'

/**
 * A schema of the role owner has the masked tables person and other, which the role victim may read. The role mallory may create schemas,
 * and has no privilege on these tables.
 */
async function prepare(cluster: ClusterName, schema = 'app') {
  const target = await createMaskedDatabase(cluster)
  const owner = await target.createRole('owner')
  const mallory = await target.createRole('mallory')
  const victim = await target.createRole('victim')
  const database = target.url.replace(/^.*\//, '')
  const run = (text: string) => target.database.sql.unsafe(text)
  const runAs = (name: string, text: string) => target.runAs(name, text)
  await run(`grant create on database "${database}" to "${mallory}";
    create schema "${schema}" authorization "${owner}"; grant usage on schema "${schema}" to public;
    set role "${owner}";
    create table "${schema}".person (id int, name text, email text); insert into "${schema}".person values (1, 'Ann', '${canary}');
    create table "${schema}".other (id int, word text); insert into "${schema}".other values (1, '${canary}');
    grant select on "${schema}".person, "${schema}".other to "${victim}"; reset role`)
  const [person, other] = [rule(`${schema}.person.email`), rule(`${schema}.other.word`)]
  return {
    target,
    owner,
    mallory,
    run,
    runAs,
    person,
    other,
    read: (name: string, text: string): Promise<string> =>
      runAs(name, text).then(
        (rows) => JSON.stringify(rows),
        (error: Error) => error.message,
      ),
    mask: (rules: readonly ReturnType<typeof rule>[], options: TurnOptions = {}) =>
      takeTurn(target.database, policy(rules), options),
    ownerOf: async (twin: string) =>
      (await run(`select relowner::regrole::text as owner from pg_class where oid = '${twin}'::regclass`))[0]
        ?.owner as string,
    /** The twin of a table, by its record. */
    twinOf: async (relation: string) => {
      const [row] = await run(`select format('%I.%I', twin ->> 'schema', twin ->> 'name') as twin
        from masquerade_guard.relation where oid = '${relation}'::regclass`)
      return String(row?.twin)
    },
    countShared: async () =>
      (
        await run(`select from masquerade_guard.relation where twin is not null
        group by twin ->> 'schema', twin ->> 'name' having count(*) > 1`)
      ).length,
    /** A schema of mallory with a view, which reads as its reader, of the columns of person. Its code notes the roles that run it. `reads`: a condition. */
    spoof: (home: string, reads: string) =>
      runAs(
        'mallory',
        `create schema "${home}"; create schema evil; grant usage on schema "${home}", evil to public;
        create table evil.loot (who text, word text); grant insert on evil.loot to public;
        create function evil.code() returns text language plpgsql as $$ begin
          begin insert into evil.loot select current_user, p::text from "${schema}".person p;
          exception when others then insert into evil.loot values (current_user, ''); end; return 'spoof'; end $$;
        create view "${home}".person with (security_invoker) as select 7 as id, evil.code() as name, 'spoof'::text as email where ${reads};
        grant select on "${home}".person to public`,
      ),
  }
}

const unquote = (name: string) => name.slice('masked_'.length)
const isTwins = /^"?masquerade_twins_/
/** The plain name of its shadow schema is over 63 bytes. */
const long = 'customer_relationship_management_of_the_northern_region_eu'

/** Schemas of which another one's twins could have the name of the first one's shadow schema. `takes`: what mallory creates before. */
const collisions = [
  {
    schema: 'app',
    takes: 'create schema masked_app',
    shadow: shadowName('app', (one) => one === 'masked_app'),
  },
  { schema: long, takes: '', shadow: shadowName(long, () => false) },
]

forEachCluster((cluster) => {
  // Of contained roles, only views that read as their reader have twins.
  if (majorOf(cluster) < 15) return
  clause(
    'ENF-310',
    'No two relations share a twin: each schema has a shadow schema of its own. Where the…',
    async () => {
      for (const { schema, takes, shadow } of collisions)
        for (const isFirst of [true, false]) {
          const one = await prepare(cluster, schema)
          await using _ = one.target
          const home = unquote(shadow)
          assert.equal(
            shadowName(home, () => false),
            shadow,
          )
          if (takes) await one.runAs('mallory', takes)
          const rules = [one.person, one.other]
          if (!isFirst) await one.mask(rules)
          await one.spoof(home, `(select count(*) from "${schema}".person) is not null`)
          for (let turn = 0; turn < 2; turn++) {
            await one.mask(rules)
            const twin = await one.twinOf(`"${schema}".person`)
            assert.equal(await one.countShared(), 0)
            assert.match(await one.ownerOf(twin), isTwins)
            assert.match(
              await one.read('victim', `select * from ${twin}`),
              /"id":1,"name":"Ann","email":"XXXX"/,
            )
            assert.deepEqual(await one.run('select from evil.loot'), [])
            const spoofed = await one.twinOf(`"${home}".person`)
            assert.notEqual(spoofed, twin)
            assert.equal((await one.ownerOf(spoofed)).replaceAll('"', ''), one.mallory)
          }
          assert.deepEqual((await one.mask(rules)).steps, [])
        }
    },
  )

  clause(
    'ENF-310',
    'No two relations share a twin: each schema has a shadow schema of its own. Where the…',
    async (t) => {
      t.diagnostic('the view has the name first, and the turn looks at one table alone')
      for (const { schema, takes, shadow } of collisions)
        for (const focus of [undefined, () => [{ schema, table: 'person' }]]) {
          const one = await prepare(cluster, schema)
          await using _ = one.target
          if (takes) await one.runAs('mallory', takes)
          const home = unquote(shadow)
          await one.run(
            `create schema third; grant usage on schema third to public; create table third.fact (word text)`,
          )
          const fact = rule('third.fact.word')
          await one.spoof(home, `(select count(*) from third.fact) is not null`)
          await one.mask([fact])
          const spoofed = await one.twinOf(`"${home}".person`)
          assert.equal(spoofed, `${shadow}.person`)
          for (let turn = 0; turn < 2; turn++) {
            await one.mask([one.person, one.other, fact], focus ? { focus } : {})
            const twin = await one.twinOf(`"${schema}".person`)
            assert.equal(await one.countShared(), 0)
            assert.equal(await one.twinOf(`"${home}".person`), spoofed)
            assert.match(await one.ownerOf(twin), isTwins)
            assert.match(await one.read('victim', `select * from ${twin}`), /"name":"Ann","email":"XXXX"/)
          }
          assert.deepEqual(await one.run('select from evil.loot'), [])
        }
    },
  )

  clause(
    'ENF-310',
    'No two relations share a twin: each schema has a shadow schema of its own. Where the…',
    async (t) => {
      t.diagnostic('a materialized view of the owner over the twin runs no code of another role')
      const one = await prepare(cluster)
      await using _ = one.target
      await one.runAs('mallory', 'create schema masked_app')
      await one.mask([one.person])
      const twin = await one.twinOf('app.person')
      await one.runAs('owner', `create materialized view app.report as select * from ${twin}`)
      await one.spoof(unquote(twin.replace('.person', '')), "'app.person'::regclass is not null")
      await one.mask([one.person])
      await one.runAs('owner', 'refresh materialized view app.report')
      assert.deepEqual(await one.run('select from evil.loot'), [])
      assert.match(await one.read('owner', 'select * from app.report'), /"name":"Ann","email":"XXXX"/)
    },
  )

  clause(
    'ENF-310',
    'No two relations share a twin: each schema has a shadow schema of its own. Where the…',
    async (t) => {
      t.diagnostic('tables with names of 63 bytes')
      const one = await prepare(cluster, long)
      await using _ = one.target
      const names = ['a', 'b'].map((last) => 'n'.repeat(62) + last)
      for (const name of names)
        await one.runAs(
          'owner',
          `create table "${long}".${name} (word text); insert into "${long}".${name} values ('${name}')`,
        )
      await one.mask(
        names.map((name) =>
          rule(`${long}.${name}.word`, 'Text', { prefixSize: '0', suffixSize: '1', replacementString: 'x' }),
        ),
      )
      for (const name of names) {
        const twin = await one.twinOf(`"${long}".${name}`)
        assert.equal(twin, `${shadowName(long, () => false)}.${name}`)
        assert.match(await one.read('owner', `select * from ${twin}`), new RegExp(`"x+${name.at(-1)}"`))
      }
    },
  )

  clause(
    'ENF-311',
    'A schema that was renamed keeps its shadow schema. A new schema of its former name gets…',
    async () => {
      for (const isFocused of [true, false]) {
        const one = await prepare(cluster)
        await using _ = one.target
        const reader = await one.target.createRole('reader')
        await one.mask([one.person])
        await one.run(`alter schema app rename to firm; create schema app authorization "${one.owner}";
          grant usage on schema app to public; set role "${one.owner}"; create table app.person (id int, name text, email text);
          insert into app.person values (2, 'Secret', '${canary}'); grant select on app.person to "${reader}"; reset role`)
        const rules = [one.person, rule('firm.person.email')]
        const focus = () => [{ schema: 'app', table: 'person' }]
        await one.mask(rules, isFocused ? { focus } : {})
        assert.equal(await one.countShared(), 0)
        const [app, firm] = [await one.twinOf('app.person'), await one.twinOf('firm.person')]
        assert.match(await one.read('victim', `select * from ${app}`), /permission denied/)
        assert.match(await one.read('reader', `select * from ${app}`), /"Secret","email":"XXXX"/)
        assert.match(await one.read('victim', `select * from ${firm}`), /"Ann","email":"XXXX"/)
        assert.match(await one.read('reader', `select * from ${firm}`), /permission denied/)
        // A turn that looks at one table does not see the new name of the other.
        if (isFocused) await one.mask(rules)
        assert.deepEqual((await one.mask(rules)).steps, [])
      }
    },
  )

  clause(
    'ENF-312',
    'A twin whose rule, owner or names of columns were changed by hand is made again by the…',
    async () => {
      const one = await prepare(cluster)
      await using _ = one.target
      await one.mask([one.person])
      const twin = await one.twinOf('app.person')
      await one.spoof('spoofed', "'app.person'::regclass is not null")
      await one.run(`create or replace view ${twin} as
          select 7 as id, evil.code() as name, 'spoof'::text as email where 'app.person'::regclass is not null;
        alter view ${twin} owner to "${one.mallory}"`)
      await one.mask([one.person])
      assert.equal(await one.countShared(), 0)
      assert.match(await one.ownerOf(twin), isTwins)
      assert.match(await one.read('victim', `select * from ${twin}`), /"name":"Ann","email":"XXXX"/)
      assert.deepEqual(await one.run('select from evil.loot'), [])
      assert.deepEqual((await one.mask([one.person])).steps, [])
    },
  )
})
