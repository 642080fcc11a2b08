import assert from 'node:assert/strict'
import { after, before, type TestContext } from 'node:test'
import { judgeRoles } from '../../../src/containment/judge-roles.ts'
import type { MaskFacts } from '../../../src/contracts/verdict.ts'
import type { Tx } from '../../../src/db/transaction.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { type ContainmentCase, containmentCases } from './containment-cases.ts'

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>
type Roles = Readonly<Record<string, string>>
type Scene = ReturnType<typeof openScene>

/** Runs in a transaction that is undone: what one case leaves behind would be a reason in the next. */
async function play(target: Target, roles: Roles, run: (scene: Scene) => Promise<void>): Promise<void> {
  const done = new Error('done')
  const [place] = await target.database.sql<{ name: string }[]>`select current_database() as name`
  const end = target.database.transaction(async (tx) => {
    for (const role of new Set(['clerk', 'auditor', 'twins', 'binder', ...Object.keys(roles)]))
      await tx.unsafe(`create role "${target.role(role)}" ${roles[role] ?? 'LOGIN'}`)
    const scene = openScene(tx, target, place?.name ?? '')
    await scene.run(`create schema if not exists public; alter schema public owner to current_user; create schema own;
      create table public.person (id int primary key, email text, note text);
      insert into public.person values (1, 'zelda.canary@example.com', 'hello');
      grant usage, create on schema public, own to public`)
    await run(scene)
    throw done
  })
  await end.catch((error: unknown) => {
    if (error !== done) throw error
  })
}

function openScene(tx: Tx, { role }: Target, database: string) {
  const fill = (text: string) =>
    text.replaceAll('@database', database).replaceAll(/\$([a-z]+)\b/g, (_, name: string) => `"${role(name)}"`)
  return {
    fill,
    run: (text: string) => tx.unsafe(fill(text)),
    async look({
      masked = [],
      plainBinding,
      as = 'clerk',
      isProposed = false,
    }: Partial<ContainmentCase> & { readonly isProposed?: boolean } = {}) {
      const exempt = [role('auditor'), role('helper')]
      await tx`set local search_path = pg_catalog`
      const [facts] = await tx<MaskFacts[]>`
        select array(select oid::int4 from pg_roles where rolname = any(${exempt}::text[])) as exempt,
          array(select oid::int4 from pg_roles where rolname = ${role('twins')}) as "twinOwners",
          (select oid::int8 from pg_roles
            where rolname = ${plainBinding ? tx`${role('binder')}` : tx`current_user`}) as self,
          array(select oid::int4 from pg_roles where rolname = ${role('person')}) as logins,
          array(select oid::int4 from (select to_regclass(name)::oid as oid
            from unnest(${['public.person', ...masked]}::text[]) name) r where oid is not null) as relations`
      assert.ok(facts)
      const found = await judgeRoles(tx, { ...facts, isProposed })
      const reasonsOf = (name: string) => found.find((one) => one.role === name)?.reasons
      return { found, reasonsOf, reasons: reasonsOf(role(as)) }
    },
  }
}

/** The situation gives the role this one reason, and the statement removes it. */
async function playCase(scene: Scene, one: ContainmentCase): Promise<void> {
  if (!one.roles?.clerk) assert.deepEqual((await scene.look(one)).reasons, [])
  await scene.run(one.setup)
  const { reasons = [] } = await scene.look(one)
  const kinds = reasons.map(({ kind }) => kind)
  assert.deepEqual(kinds, one.kind === null ? [] : [one.kind], JSON.stringify(reasons))
  const [reason] = reasons
  if (!reason) return
  assert.match(reason.text, one.text ?? /./)
  assert.equal(reason.via, one.via === undefined ? null : scene.fill(one.via).replaceAll('"', ''))
  if (one.as === 'person')
    assert.doesNotMatch(reason.statement ?? '', /person_/, 'mappings give memberships back')
  await scene.run(reason.statement ?? '')
  assert.deepEqual((await scene.look(one)).reasons, [], reason.statement ?? '')
}

forEachCluster((cluster) => {
  let target: Target
  before(async () => {
    target = await createMaskedDatabase(cluster)
  })
  after(() => target[Symbol.asyncDispose]())
  const version = Number(cluster.replace(/\D+/, '')) * 10_000
  const casesOf = (id: string) =>
    containmentCases.filter(
      ({ clause: about, from = 0, below = Number.POSITIVE_INFINITY }) =>
        about === id && version >= from && version < below,
    )

  const playAll = (id: string) => async (t: TestContext) => {
    assert.ok(casesOf(id).length > 0)
    for (const one of casesOf(id))
      await t.test(one.what, () => play(target, one.roles ?? {}, (scene) => playCase(scene, one)))
  }

  clause(
    'ENF-541',
    'Reason `attribute`: the role is a superuser, has REPLICATION or, before PostgreSQL 16, CREATEROLE…',
    playAll('ENF-541'),
  )

  clause(
    'ENF-542',
    'Reason `membership`: the role can become, or has ADMIN on, an exempt role, the role of the binding…',
    playAll('ENF-542'),
  )

  clause(
    'ENF-543',
    'Reason `ownership`: the role owns the database, a masked relation, its schema, partitions, children…',
    playAll('ENF-543'),
  )

  clause(
    'ENF-544',
    'Reason `code`: the role owns a function, operator, type, relation or extension that a masked relation…',
    playAll('ENF-544'),
  )

  clause(
    'ENF-545',
    'Reason `privilege`: the role has TRIGGER or REFERENCES on relations of roles that see raw values…',
    playAll('ENF-545'),
  )

  clause(
    'ENF-546',
    'Reason `server`: the role may set or ALTER SYSTEM a setting that loads code, disables triggers or…',
    playAll('ENF-546'),
  )

  clause(
    'ENF-547',
    'Memberships with INHERIT, SET or ADMIN, at any depth, and grants to PUBLIC count…',
    playAll('ENF-547'),
  )

  clause(
    'ENF-540',
    'Every database role has a verdict, `Contained` where nothing is masked or no reason below…',
    async (t) => {
      await playAll('ENF-540')(t)
      await play(target, { group: 'NOLOGIN' }, async (scene) => {
        const { found } = await scene.look({ plainBinding: true })
        const names = found.map(({ role }) => role)
        const ours = ['auditor', 'binder', 'twins'].map(target.role)
        assert.ok(names.every((name) => !ours.includes(name) && !name.startsWith('pg_')))
        const [clerk, group] = ['clerk', 'group'].map((name) => names.indexOf(target.role(name)))
        assert.ok(clerk !== -1 && Number(group) > Number(clerk), 'login roles come first')
      })
    },
  )

  clause(
    'ENF-548',
    'Each reason has a statement that removes it, with quoted identifiers and at most 100 objects…',
    async () => {
      await play(target, { 'Odd ""name': 'LOGIN REPLICATION' }, async (scene) => {
        const { reasonsOf } = await scene.look({ plainBinding: true })
        const [first] = await scene.run('select rolname::text as name from pg_roles where oid = 10')
        const [reason, ...others] = reasonsOf(first?.name) ?? []
        assert.deepEqual([reason?.kind, reason?.statement, others], ['attribute', null, []])
        const odd = target.role('Odd ""name')
        const [statement] = (reasonsOf(odd.replace('""', '"')) ?? []).map((one) => one.statement)
        assert.equal(statement, `ALTER ROLE "${odd}" NOREPLICATION`)
      })
    },
  )

  clause(
    'ENF-540',
    'Every database role has a verdict, `Contained` where nothing is masked or no reason below…',
    async () => {
      await play(target, { boss: 'LOGIN SUPERUSER' }, async (scene) => {
        assert.equal((await scene.look()).reasonsOf(target.role('boss'))?.length, 1)
        await scene.run('drop table public.person')
        assert.ok((await scene.look()).found.every(({ contained }) => contained))
      })
    },
  )

  clause(
    'ENF-554',
    'The verdicts about proposed rules leave out TRIGGER, REFERENCES and MAINTAIN on relations from which the turn…',
    async () => {
      await play(target, {}, async (scene) => {
        const look = async (how: Parameters<typeof scene.look>[0]) =>
          (await scene.look(how)).reasons?.map(({ text }) => text) ?? []
        await scene.run(`create view public.seen as select * from public.person; create table public.aside (id int);
          grant trigger, references on public.person, public.seen to $clerk with grant option;
          grant references (id) on public.person to public`)
        assert.equal((await look({})).length, 4)
        assert.deepEqual(await look({ isProposed: true }), [])
        // Such a binding cannot close the relations.
        assert.deepEqual(
          await look({ isProposed: true, plainBinding: true }),
          await look({ plainBinding: true }),
        )
        await scene.run(
          `grant trigger on public.aside to $clerk; grant select on public.person to $clerk with grant option`,
        )
        assert.deepEqual(await look({ isProposed: true }), [
          'has grant options on masked relations: public.person',
          'has TRIGGER on relations of roles that see raw values: public.aside',
        ])
      })
    },
  )

  clause(
    'ENF-548',
    'Each reason has a statement that removes it, with quoted identifiers and at most 100 objects…',
    async () => {
      await play(target, {}, async (scene) => {
        await scene.run(`do 'begin for at in 1..150 loop
          execute format(''create table own.t%s (); grant trigger on own.t%s to $clerk'', at, at); end loop; end'`)
        for (const [many, named] of [
          [/ and 147 more$/, 100],
          [/ and 47 more$/, 50],
        ] as const) {
          const [reason] = (await scene.look()).reasons ?? []
          assert.match(reason?.text ?? '', many)
          assert.equal(reason?.statement?.match(/own\.t/g)?.length, named)
          await scene.run(reason?.statement ?? '')
        }
        assert.deepEqual((await scene.look()).reasons, [])
      })
    },
  )
})
