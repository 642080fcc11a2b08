import assert from 'node:assert/strict'
import { describe } from 'node:test'
import pg from 'pg'
import { describeTurn } from '../../../src/findings/turns/describe-turn.ts'
import type { TurnOptions, TurnResult } from '../../../src/masks/turn.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import type { ClusterName } from '../../support/cluster.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

const staff = 'hr.staff.mail'
const more = 'hr.more.mail'
const tables = [staff, 'desk.note.mail', 'open.news.mail']
const masked = [{ mail: 'XXXX' }]

/** hr is for reader, desk for its owner keeper, open for PUBLIC. The role outsider may read all, and use open alone. */
async function prepare(cluster: ClusterName, isSuperuser: boolean) {
  const target = await createMaskedDatabase(cluster)
  const [reader, outsider, keeper] = [
    await target.createRole('reader'),
    await target.createRole('outsider'),
    await target.createRole('keeper'),
  ]
  const binder = await target.createRole('binder', 'LOGIN CREATEROLE')
  const run = (text: string) => target.database.sql.unsafe(text)
  await run(`create schema hr; create schema desk authorization "${keeper}"; create schema open;
    grant usage on schema hr to "${reader}"; grant usage on schema open to public;
    grant create on database "${target.url.replace(/^.*\//, '')}" to "${binder}"`)
  for (const table of [...tables, more].map((column) => column.replace(/\.mail$/, '')))
    await run(`create table ${table} (id int, mail text); insert into ${table} values (1, 'raw');
      grant select on ${table} to "${reader}", "${outsider}", "${keeper}"; alter table ${table} owner to "${binder}"`)
  if (!isSuperuser)
    await run(
      `grant usage on schema hr, open to "${binder}" with grant option; grant "${keeper}" to "${binder}"`,
    )
  const binding = isSuperuser ? target.database : target.connectAs('binder')
  const reads = (name: string, text: string) =>
    target.runAs(name, text).then(
      (rows) => JSON.stringify(rows),
      (error: Error) => error.message,
    )
  return {
    target,
    run,
    reader,
    outsider,
    keeper,
    binder,
    binding,
    reads,
    mask: (columns: readonly string[] = tables, options: TurnOptions = {}, exempt: readonly string[] = []) =>
      takeTurn(
        binding,
        policy(
          columns.map((column) => rule(column)),
          exempt,
        ),
        options,
      ),
    /** A lock makes the turn go relation by relation. `look` is tried again and again meanwhile. */
    async whileLocked(turn: () => Promise<TurnResult>, look: () => Promise<unknown>): Promise<void> {
      const locker = new pg.Client(target.url)
      await locker.connect()
      await locker.query('begin; lock table hr.more')
      let isOver = false
      const ended = turn().finally(() => {
        isOver = true
      })
      while (!isOver) await look()
      const { unfinished } = await ended
      assert.deepEqual(
        unfinished.map(({ target }) => target),
        ['"hr"."more"'],
      )
      await locker.end()
    },
    /** Grantees of USAGE, without the roles of the service. */
    users: async (schema: string): Promise<string[]> =>
      (
        await run(`select distinct coalesce(r.rolname, 'PUBLIC')::text as name
          from pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
          left join pg_roles r on r.oid = a.grantee where n.nspname = '${schema}' and a.privilege_type = 'USAGE'
            and coalesce(r.rolname, '') !~ '^(masquerade_twins|binder)_'
            and r.rolname is distinct from current_user order by 1`)
      ).map(({ name }) => String(name)),
    shows: async (name: string, text: string) =>
      assert.equal(await reads(name, text), JSON.stringify(masked)),
    denies: async (name: string, text: string) =>
      assert.match(await reads(name, text), /^permission denied for schema /),
  }
}

const bindings = [true, false]

forEachCluster((cluster) => {
  for (const isSuperuser of bindings)
    describe(isSuperuser ? 'a superuser binds' : 'the binding is no superuser', () => {
      clause(
        'ENF-530',
        'USAGE on a shadow schema goes to the roles that have it on its schema, to PUBLIC only…',
        async () => {
          const one = await prepare(cluster, isSuperuser)
          await using _ = one.target
          const { outsider, reader, keeper } = one
          await one.mask()
          const agree = async () => {
            for (const schema of ['hr', 'desk', 'open'])
              assert.deepEqual(await one.users(`masked_${schema}`), await one.users(schema), schema)
          }
          await agree()
          await one.shows('reader', 'select mail from masked_hr.staff')
          await one.shows('keeper', 'select mail from masked_desk.note')
          await one.shows('outsider', 'select mail from masked_open.news')
          await one.denies('outsider', 'select mail from masked_hr.staff')
          await one.denies('reader', 'select mail from masked_desk.note')
          assert.deepEqual((await one.mask()).steps, [])
          await one.run(isSuperuser ? 'delete from masquerade_guard.drift' : 'select')
          await one.run(`grant usage on schema hr to "${outsider}"`)
          if (isSuperuser) assert.equal((await one.run('select from masquerade_guard.drift')).length, 1)
          await one.mask()
          await one.shows('outsider', 'select mail from masked_hr.staff')
          await one.run(`revoke usage on schema hr from "${outsider}", "${reader}"; grant usage on schema hr to public;
            alter schema desk owner to "${reader}"`)
          await one.mask()
          await one.shows('outsider', 'select mail from masked_hr.staff')
          await one.denies('keeper', 'select mail from masked_desk.note')
          await one.shows('reader', 'select mail from masked_desk.note')
          await one.run(`revoke usage on schema hr from public; revoke usage on schema open from public`)
          // By hand on the shadow schema: it ends, with what was passed on.
          await one.run(`grant usage on schema masked_hr to "${outsider}";
            grant usage on schema masked_desk to "${reader}" with grant option;
            set role "${reader}"; grant usage on schema masked_desk to "${keeper}"; reset role`)
          await one.mask()
          await agree()
          await one.denies('outsider', 'select mail from masked_hr.staff')
          assert.deepEqual((await one.mask()).steps, [])
          // The binding may not use the schema any more.
          await one.run(`alter schema desk owner to "${keeper}"`)
          await one.mask([])
          assert.deepEqual(await one.run(`select from pg_namespace where nspname ~ '^masked_'`), [])
        },
      )

      clause(
        'ENF-558',
        'A database that release 0.1.0 or 0.2.0 masked is taken over: no masked role reads a raw…',
        async () => {
          for (const isLocked of [false, true]) {
            const one = await prepare(cluster, isSuperuser)
            await using _ = one.target
            await one.mask()
            for (const schema of ['hr', 'desk', 'open'])
              await one.run(`do $$ declare who name; begin
                for who in select a.grantee::regrole from pg_namespace n, aclexplode(nspacl) a
                where nspname = 'masked_${schema}' and a.grantee not in (0, nspowner) and a.privilege_type = 'USAGE'
                loop execute format('revoke usage on schema masked_${schema} from %s', who); end loop; end $$;
                grant usage on schema masked_${schema} to public`)
            const read = () => one.shows('reader', 'select mail from masked_hr.staff')
            const turn = () => one.mask([...tables, more], { beforeStep: read })
            await (isLocked ? one.whileLocked(turn, read) : turn())
            await read()
            await one.denies('outsider', 'select mail from masked_hr.staff')
            await one.mask()
            for (const schema of ['hr', 'desk', 'open'])
              assert.deepEqual(await one.users(`masked_${schema}`), await one.users(schema), schema)
            assert.deepEqual((await one.mask()).steps, [])
          }
        },
      )

      clause(
        'ENF-533',
        'The twin of a view is made, granted and closed also where the owner of the view may not…',
        async () => {
          const one = await prepare(cluster, isSuperuser)
          await using _ = one.target
          const { reader, outsider, keeper, binder } = one
          await one.run(`create schema pub; grant usage on schema pub to "${outsider}", "${reader}", "${binder}";
            create view pub.list as select mail from hr.staff; alter view pub.list owner to "${keeper}";
            grant select on pub.list to "${outsider}"; grant "${keeper}" to "${binder}"`)
          const mask = (columns?: readonly string[]) => one.mask(columns, {}, [keeper])
          const seen = async (name: string) => {
            await one.shows(name, 'select mail from masked_pub.list')
            for (const shadow of ['masked_pub.list', 'masked_hr.staff'])
              await one.denies('keeper', `select mail from ${shadow}`)
          }
          assert.deepEqual(describeTurn(await mask()), [])
          await seen('outsider')
          assert.deepEqual((await mask()).steps, [])
          await one.run(`revoke select on pub.list from "${outsider}"; grant select on pub.list to "${reader}";
            revoke select on masked_pub.list from "${outsider}"`)
          await mask()
          await seen('reader')
          await one.run(`create or replace view pub.list as select mail, id from hr.staff`)
          await mask()
          await seen('reader')
          // It has USAGE, loses it, and is still the owner.
          await one.run(`grant usage on schema hr, pub to "${keeper}"`)
          await mask()
          await one.shows('keeper', 'select mail from masked_hr.staff')
          await one.run(`revoke usage on schema hr, pub from "${keeper}"`)
          await mask()
          await seen('reader')
          assert.deepEqual((await mask()).steps, [])
          await one.run(`grant select on pub.list to "${outsider}"`)
          await one.whileLocked(
            () => mask([...tables, more]),
            () => seen('reader'),
          )
          await seen('outsider')
          await mask([])
          assert.deepEqual(await one.run(`select from pg_namespace where nspname ~ '^masked_'`), [])
          assert.equal(await one.reads('reader', 'select mail from pub.list'), '[{"mail":"raw"}]')
        },
      )
    })
})
