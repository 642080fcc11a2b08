import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { findExposures } from '../../../src/findings/exposures/find-exposures.ts'
import { describeTurn } from '../../../src/findings/turns/describe-turn.ts'
import { judgeUnfinished } from '../../../src/findings/turns/judge-turn.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { majorOf } from '../../support/cluster.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { listPrivileges } from '../../support/privileges.ts'

/** How a role comes to act for the owner of the tables. */
const bindings: Readonly<
  Record<
    string,
    { options: string; setUp(names: Record<'binder' | 'owner', string>, version: number): string }
  >
> = {
  'owns the tables and may create roles': {
    options: 'LOGIN CREATEROLE',
    setUp: ({ binder }) =>
      `alter table app.t owner to "${binder}"; alter view app.v owner to "${binder}"; alter materialized view app.m owner to "${binder}"`,
  },
  'is a member that does not inherit': {
    options: 'LOGIN NOINHERIT CREATEROLE',
    setUp: ({ binder, owner }, version) =>
      `grant "${owner}" to "${binder}" ${version >= 160000 ? 'with inherit false, set true' : ''}`,
  },
}

forEachCluster((cluster) => {
  // Before PostgreSQL 15 no view reads as its reader.
  const hasReaders = majorOf(cluster) >= 15
  const note = hasReaders ? 'ReadsAsReader' : 'NoTwin'
  for (const [title, { options, setUp }] of Object.entries(bindings))
    describe(`a binding that ${title}`, () => {
      let target: Awaited<ReturnType<typeof createMaskedDatabase>>
      let [analyst, auditor, owner, binder]: string[] = []
      const run = (text: string) => target.database.sql.unsafe(text)
      const reads = async (name: string, text: string) =>
        target
          .connectAs(name)
          .sql.unsafe(text)
          .then((rows) => rows.map((row) => Object.values(row)[0]))
      before(async () => {
        target = await createMaskedDatabase(cluster)
        analyst = await target.createRole('analyst')
        auditor = await target.createRole('auditor')
        owner = await target.createRole('owner')
        binder = await target.createRole('binder', options)
        const database = target.url.replace(/^.*\//, '')
        await run(`create schema app; grant usage on schema app to public;
          create table app.t (id int, mail text); insert into app.t values (1, 'raw');
          create view app.v as select mail from app.t; create materialized view app.m as select mail from app.t;
          alter table app.t owner to "${owner}"; alter view app.v owner to "${owner}"; alter materialized view app.m owner to "${owner}";
          grant select on app.t, app.v, app.m to "${analyst}", "${auditor}";
          grant create on database "${database}" to "${binder}"`)
        const [row] = await run(`select current_setting('server_version_num')::int as version`)
        await run(setUp({ binder, owner }, row?.version))
      })
      after(() => target[Symbol.asyncDispose]())

      clause('ENF-48', 'The role of the binding needs no superuser: it owns the tables…', async () => {
        const rules = [rule('app.t.mail')]
        const roles = [analyst, auditor, owner].map(String)
        const before = await listPrivileges(target.database, roles)
        const session = target.connectAs('binder')
        const notes = describeTurn(await takeTurn(session, policy(rules, [String(auditor)])))
        assert.deepEqual(
          notes.map(({ code, target: of }) => [code, of]),
          [[note, 'app.m']],
        )
        assert.deepEqual((await takeTurn(session, policy(rules, [String(auditor)]))).steps, [])
        for (const object of hasReaders ? ['t', 'v', 'm'] : ['t', 'v']) {
          assert.deepEqual(await reads('analyst', `select mail from masked_app.${object}`), ['XXXX'], object)
          await assert.rejects(
            reads('analyst', `select mail from app.${object}`),
            /permission denied/,
            object,
          )
          assert.deepEqual(await reads('auditor', `select mail from app.${object}`), ['raw'], object)
        }
        await takeTurn(session, policy([]))
        assert.deepEqual((await takeTurn(session, policy([]))).steps, [])
        assert.deepEqual(await listPrivileges(target.database, roles), before)
        assert.deepEqual(await reads('analyst', 'select mail from app.v'), ['raw'])
      })

      clause('ENF-49', 'A table that the role of the binding may not manage is reported…', async () => {
        await run(`create table app.foreign_to_us (id int, mail text); grant select on app.foreign_to_us to "${analyst}";
          create view app.of_analyst as select * from app.t; alter view app.of_analyst owner to "${analyst}";
          create view app.of_auditor as select * from app.t; alter view app.of_auditor owner to "${auditor}"`)
        const session = target.connectAs('binder')
        const rules = [rule('app.t.mail'), rule('app.foreign_to_us.mail')]
        const notes = describeTurn(await takeTurn(session, policy(rules, [String(auditor)])))
        assert.deepEqual(
          notes.map(({ code, target }) => [code, target]).sort(),
          [
            ['NotMasked', 'app.foreign_to_us'],
            [note, 'app.m'],
          ].sort(),
        )
        await assert.rejects(reads('analyst', 'select mail from app.t'), /permission denied/)
        await assert.rejects(reads('analyst', 'select mail from app.of_analyst'), /permission denied/)
        await takeTurn(session, policy([]))
      })

      clause(
        'ENF-193',
        'A table of a masked role that has the columns of a masked one, as a detached partition has, is listed as a `PossibleCopy`…',
        async () => {
          await run(`create table app.log (id int, mail text, note text) partition by list (id);
            create table app.log_1 partition of app.log for values in (1); insert into app.log values (1, 'raw');
            alter table app.log owner to "${title.startsWith('owns') ? binder : owner}"; alter table app.log_1 owner to "${analyst}";
            grant select on app.log, app.log_1 to "${auditor}"`)
          const session = target.connectAs('binder')
          const rules = [rule('app.log.mail')]
          const attached = await takeTurn(session, policy(rules))
          assert.equal(judgeUnfinished(attached, []).state, 'Failed')
          const find = async (code: string) =>
            (await findExposures(session, policy(rules))).filter((one) => one.code === code)
          const unmasked = describeTurn(attached).filter(({ code }) => code === 'NotMasked')
          assert.deepEqual(
            unmasked.map((one) => one.target),
            ['app.log_1'],
          )
          await run('alter table app.log detach partition app.log_1')
          assert.equal(judgeUnfinished(await takeTurn(session, policy(rules)), []).state, null)
          const [copy] = await find('PossibleCopy')
          assert.deepEqual(
            [copy?.severity, copy?.objects[0]?.name, copy?.roles.toSorted()],
            ['medium', '"app"."log_1"."mail"', [analyst, auditor].map(String).toSorted()],
          )
          await run(copy?.remedy ?? '')
          await run(`alter table app.log attach partition app.log_1 for values in (1)`)
          await takeTurn(session, policy(rules))
          await assert.rejects(reads('auditor', 'select mail from app.log_1'), /permission denied/)
          await takeTurn(session, policy([]))
          await run('drop table app.log')
        },
      )
    })
})
