import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { openDatabase } from '../../../src/db/database.ts'
import type { Policy } from '../../../src/masks/policy.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forUsualCluster } from '../../support/postgres.ts'
import { listPrivileges } from '../../support/privileges.ts'

const canary = 'zqcanary'
/**
 * `npm run test:all` stops a turn before each statement, in each way; otherwise before the first of each kind, and kills the
 * service in the first change alone: the database sees the same.
 */
const isAll = process.env.MASQUERADE_TEST_ALL !== undefined
const program = fileURLToPath(new URL('../../support/die-in-turn.ts', import.meta.url))

const schema = `
  create schema app; grant usage on schema app to public;
  create table app.t (id int, mail text, pay int, made text generated always as (mail || '!') stored);
  insert into app.t values (1, '${canary}', 5);
  create table app.parts (id int, mail text) partition by list (id);
  create table app.part partition of app.parts for values in (1); insert into app.parts values (1, '${canary}');
  create table app.child () inherits (app.t); insert into app.child values (2, '${canary}', 6);
  create view app.v as select id, mail from app.t; create view app.deep as select mail from app.v where id > 0;
  create materialized view app.m as select mail from app.t;
  create policy every_row on app.parts using (true); alter table app.parts enable row level security;
  grant select on all tables in schema app to $analyst, $auditor; grant select (mail) on app.t to $group;
  grant select on app.t to $passing with grant option; grant trigger, references on app.t to $analyst`

/** What a masked role could read raw values from. */
const reads = [
  ...['app.t.mail', 'app.t.made', 'app.parts.mail', 'app.part.mail', 'app.child.mail', 'app.v.mail'],
  ...['app.deep.mail', 'app.m.mail', 'masked_app.t.mail', 'masked_app.t.made', 'masked_app.parts.mail'],
  ...[
    'masked_app.part.mail',
    'masked_app.child.mail',
    'masked_app.v.mail',
    'masked_app.deep.mail',
    'masked_app.m.mail',
  ],
].map((name) => name.match(/^(.*)\.(\w+)$/)?.slice(1) as [relation: string, column: string])

forUsualCluster((cluster) => {
  /** Each on a database of its own, at the same time. */
  const play = async (mode: 'together' | 'one by one') => {
    await using target = await createMaskedDatabase(cluster)
    const run = (text: string) => target.database.sql.unsafe(text)
    const names = ['analyst', 'auditor', 'owner', 'group', 'passing'] as const
    for (const name of names) await target.createRole(name, /^a/.test(name) ? 'LOGIN' : '')
    const [auditor, owner] = [target.role('auditor'), target.role('owner')]
    await run(schema.replaceAll(/\$([a-z]+)/g, (_, name: string) => `"${target.role(name)}"`))

    const t = rule('app.t.mail')
    const parts = rule('app.parts.mail')
    /** Each with what an operator does before. */
    const changes: readonly { readonly what: string; readonly to: Policy; readonly by?: string }[] = [
      { what: 'the first rules', to: policy([t, parts], [auditor]) },
      { what: 'another function', to: policy([rule('app.t.mail', 'Email'), parts], [auditor]) },
      { what: 'one more rule, and the end of an exemption', to: policy([t, parts, rule('app.t.pay')]) },
      { what: 'an exemption', to: policy([t, parts], [auditor]) },
      {
        what: 'a suspended table',
        to: { ...policy([t, parts]), suspended: [{ schema: 'app', table: 't' }] },
      },
      { what: 'a table that is resumed', to: policy([t, parts]) },
      { what: 'a renamed column', to: policy([t, parts]), by: 'alter table app.t rename pay to salary' },
      { what: 'another owner', to: policy([t, parts]), by: `alter table app.parts owner to "${owner}"` },
      { what: 'another view', to: policy([t, parts]), by: 'create view app.late as select mail from app.v' },
      {
        what: 'a revoke by hand',
        to: policy([t, parts]),
        by: `revoke select on app.t from "${target.role('group')}"`,
      },
      { what: 'a rule that goes', to: policy([t]) },
      { what: 'the last rule', to: policy([]) },
    ]

    /** Columns of both policies: masked before the change and after it, so they are never to be read. */
    const isMaskedIn = ({ rules }: Policy, relation: string) => {
      const table = /parts?$/.test(relation) ? 'parts' : 't'
      return rules.some((one) => one.column === 'mail' && one.table === table)
    }
    const assertNothingRaw = async (from: Policy, to: Policy, at: string) => {
      const session = target.connectAs('analyst')
      for (const [relation, column] of reads) {
        const isTwin = relation.startsWith('masked_')
        if (!isTwin && !(isMaskedIn(from, relation) && isMaskedIn(to, relation))) continue
        const rows = await session.sql
          .unsafe(`select "${column}"::text as value from ${relation}`)
          .catch((error: { code?: string }) => {
            assert.match(String(error.code), /^(42501|42P01|3F000|42703)$/, `${relation} ${at}`)
            return []
          })
        assert.ok(!rows.some(({ value }) => String(value).includes(canary)), `${relation}.${column} ${at}`)
      }
      await session.close()
    }

    /** The backend is ended: the connection is lost between two statements. */
    const loseConnection = async (wanted: Policy, at: number, holdsLock: boolean) => {
      const name = `doomed-${at}`
      const doomed = openDatabase({
        url: target.url,
        poolSize: 2,
        searchPath: 'public',
        applicationName: name,
      })
      let step = 0
      const beforeStep = async () => {
        if (step++ !== at) return
        await run(
          `select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = '${name}'
            and datname = current_database() and xact_start is not null`,
        )
      }
      await takeTurn(doomed, wanted, { beforeStep }).catch(() => {})
      await doomed.close()
      return step > at || holdsLock
    }
    const killService = async (wanted: Policy, at: number) => {
      const child = spawn(process.execPath, [program, target.url, JSON.stringify(wanted), String(at)], {
        stdio: 'ignore',
      })
      const [, signal] = await once(child, 'exit')
      return signal === 'SIGKILL'
    }
    /** While another session holds it, relations are changed one by one, each in a transaction with what was done before. */
    const whileLocked = async (work: () => Promise<unknown>) => {
      await target.database.transaction(async (tx) => {
        await tx.unsafe('lock table app.child in access exclusive mode')
        await work()
      })
    }

    const seeState = async () => {
      const views = await run(`select schemaname, viewname, definition from pg_views
        where schemaname like 'masked%' order by 1, 2`)
      return JSON.stringify([views, await listPrivileges(target.database, names.map(target.role))])
    }
    const tried = new Set<string>()
    let from = policy([])
    await takeTurn(target.database, from)
    for (const [number, { what, to, by }] of changes.entries()) {
      if (mode === 'one by one' && !isAll && number > 2) break
      const before = from
      from = to
      if (by && mode === 'together') await run(by)
      const planned = (await takeTurn(target.database, to, { dryRun: true })).steps
      if (planned.length === 0) continue
      const old = await seeState()
      const fault = async (at: number, die: () => Promise<boolean>, how: string) => {
        const place = `${what}, ${how} before statement ${at}`
        if (mode === 'together') assert.ok(await die(), place)
        else await whileLocked(die)
        await assertNothingRaw(before, to, place)
        if (mode === 'together') assert.equal(await seeState(), old, place)
        // What a fault left half done is undone here, as the next one begins with the same.
        if (mode === 'one by one') await takeTurn(target.database, before)
      }
      for (const [at, { why, sql }] of planned.entries()) {
        const kind = `${sql.match(/^\w+ \w+/)?.[0]}: ${why}`
        if (!isAll && tried.has(kind)) continue
        tried.add(kind)
        const lose = () => loseConnection(to, at, mode === 'one by one')
        const kill = () => killService(to, at)
        // One after the other, each kind of statement meets one of both.
        const kills = mode === 'together' && number === 0 && at % 2 === 1
        if (isAll || !kills) await fault(at, lose, 'connection lost')
        if (mode === 'together' && (isAll || kills)) await fault(at, kill, 'service killed')
      }
      await takeTurn(target.database, to)
      assert.deepEqual((await takeTurn(target.database, to)).steps, [], `the next turn heals: ${what}`)
      await assertNothingRaw(to, to, `after ${what}`)
      const exempt = to.exemptRoles.length > 0
      const rows = await target
        .connectAs('auditor')
        .sql.unsafe('select mail from app.t')
        .catch(() => [])
      assert.equal(rows[0]?.mail === canary, exempt || to.rules.length === 0, what)
    }
    await takeTurn(target.database, policy([]))
  }
  clause(
    'ENF-62',
    'A crash before any statement of a plan leaves the old state, and the next turn finishes.',
    async () => {
      await Promise.all([play('together'), play('one by one')])
    },
  )
})
