import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type { Database } from '../../../src/db/database.ts'
import { examine } from '../../../src/findings/preflight.ts'
import { describeTurn } from '../../../src/findings/turns/describe-turn.ts'
import { judgeUnfinished } from '../../../src/findings/turns/judge-turn.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { majorOf } from '../../support/cluster.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

const canary = 'zqcanary'

/** The binding acts for the owner of the tables, and for no other role. */
forEachCluster((cluster) => {
  describe('views that the role of the binding may not manage', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let binding: Database
    let [analyst, auditor, clerk, owner, readers, binder]: string[] = []
    const run = (text: string) => target.database.sql.unsafe(text)
    const rules = [rule('app.person.mail')]
    const exempt = () => [String(auditor)]
    const mask = () => takeTurn(binding, policy(rules, exempt()))
    const judge = async () => judgeUnfinished(await mask(), [])
    const shows = async (name: string, text: string) => {
      const answer = await target.runAs(name, text).catch(({ message }: Error) => message)
      return JSON.stringify(answer).includes(canary)
    }

    before(async () => {
      target = await createMaskedDatabase(cluster)
      analyst = await target.createRole('analyst')
      auditor = await target.createRole('auditor')
      clerk = await target.createRole('clerk')
      owner = await target.createRole('owner', '')
      readers = await target.createRole('readers', '')
      binder = await target.createRole('binder', 'LOGIN CREATEROLE')
      await run(`create schema app; grant usage on schema app to public; grant create on schema app to "${analyst}", "${auditor}", "${owner}";
        create table app.person (id int primary key, mail text, note text); insert into app.person values (1, '${canary}', 'n');
        grant select on app.person to "${analyst}", "${auditor}", "${clerk}"; alter table app.person owner to "${owner}";
        grant "${owner}" to "${binder}"; grant "${readers}" to "${clerk}";
        grant create on database "${target.url.replace(/^.*\//, '')}" to "${binder}"`)
      binding = target.connectAs('binder')
    })
    after(() => target[Symbol.asyncDispose]())

    const superusers = 'create view app.report as select id, mail from app.person'
    const ways: Readonly<Record<string, () => string>> = {
      "a superuser's view": () => `${superusers}; grant select on app.report to "${clerk}"`,
      'a grant on a column': () => `${superusers}; grant select (mail) on app.report to "${clerk}"`,
      'a grant to PUBLIC': () => `${superusers}; grant select on app.report to public`,
      'a grant to a role of the reader': () => `${superusers}; grant select on app.report to "${readers}"`,
      'whole rows': () =>
        `create view app.report as select p::text as mail from app.person p; grant select on app.report to "${clerk}"`,
      'a view over a view': () =>
        `create view app.inner_report as select id, mail from app.person;
        create view app.report as select mail from app.inner_report; grant select on app.report to "${clerk}"`,
      "a view over a view of the table's owner": () =>
        `create view app.inner_report as select id, mail from app.person; alter view app.inner_report owner to "${owner}";
        create view app.report as select mail from app.inner_report; grant select on app.report to "${clerk}"`,
      "a view over the table owner's materialized view": () =>
        `create materialized view app.kept as select mail from app.person; alter materialized view app.kept owner to "${owner}";
        create view app.report as select mail from app.kept; grant select on app.report to "${clerk}"`,
      "an exempt role's view": () =>
        `set role "${auditor}"; ${superusers}; grant select on app.report to public; reset role`,
      'a view of a member of the owner': () =>
        `create role "${target.role('deputy')}" in role "${owner}"; ${superusers}; alter view app.report owner to "${target.role('deputy')}";
        grant select on app.report to "${clerk}"`,
      'a view of a role that reads all data': () =>
        `create role "${target.role('deputy')}" in role pg_read_all_data; ${superusers}; alter view app.report owner to "${target.role('deputy')}";
        grant select on app.report to "${clerk}"`,
    }
    const copies: typeof ways = {
      'a materialized view of a masked role': () =>
        `set role "${analyst}"; create materialized view app.report as select mail from app.person; reset role;
        grant select on app.report to "${clerk}"`,
      'a materialized view of whole rows': () =>
        `set role "${analyst}"; create materialized view app.report as select p::text as mail from app.person p; reset role;
        grant select on app.report to public`,
    }
    const undo = async () => {
      await takeTurn(binding, policy([]))
      const [report] = await run(`select relkind from pg_class where oid = to_regclass('app.report')`)
      await run(`drop ${report?.relkind === 'm' ? 'materialized' : ''} view if exists app.report;
        drop view if exists app.inner_report; drop materialized view if exists app.kept;
        drop role if exists "${target.role('deputy')}"`)
    }
    const play = async (rows: typeof ways) => {
      for (const [what, create] of Object.entries(rows)) {
        await run(create())
        const { state, reason } = await judge()
        assert.ok(await shows('clerk', 'select mail from app.report'), what)
        assert.equal(state, 'Failed', what)
        assert.match(reason, /app\.report is not masked/, what)
        assert.doesNotMatch(reason, /GRANT "/, what)
        const [, remedy = ''] = /Run: (ALTER .+? OWNER TO ".+?")/.exec(reason) ?? []
        assert.ok(remedy, what)
        await run(remedy)
        assert.equal((await judge()).state, null, what)
        assert.equal(await shows('clerk', 'select mail from app.report'), false, what)
        await undo()
      }
    }

    clause(
      'ENF-433',
      'A view that reads masked relations with the rights of an owner who sees raw values, and that the…',
      () => play(ways),
    )

    clause(
      'ENF-192',
      'A filled materialized view over a masked relation that the binding may not manage makes the state…',
      () => play(copies),
    )

    clause(
      'ENF-433',
      'A view that reads masked relations with the rights of an owner who sees raw values, and that the…',
      async () => {
        await run(`${superusers}; grant select on app.report to "${clerk}"`)
        const { reason } = await judge()
        await run(/Run: (.*)\.$/.exec(reason)?.[1] ?? '')
        assert.equal((await judge()).state, null)
        assert.equal(await shows('clerk', 'select mail from app.report'), false)
        assert.deepEqual(await target.runAs('clerk', 'select mail from masked_app.report'), [
          { mail: 'XXXX' },
        ])
        assert.ok(await shows('auditor', 'select mail from app.person'))
        await undo()
      },
    )

    clause(
      'ENF-434',
      'Such a view (ENF-433) does not make the state `Failed` where none may read it but roles that see raw…',
      async () => {
        const masked = `set role "${analyst}"; ${superusers}; grant select on app.report to public; reset role`
        const harmless: Record<string, string> = {
          'no grant': superusers,
          'grants to roles that see raw values': `${superusers}; grant select on app.report to "${auditor}", "${owner}", "${binder}"`,
          'a right to write': `${superusers}; grant insert on app.report to "${clerk}"`,
          'a masked owner': masked,
          "a superuser's view over one of a masked owner": `${masked.replaceAll('app.report', 'app.inner_report')};
            create view app.report as select mail from app.inner_report; grant select on app.report to public`,
          'a materialized view without data': `set role "${analyst}"; create materialized view app.kept as select mail from app.person with no data;
            create view app.report as select mail from app.kept; grant select on app.report to public; reset role`,
          ...(majorOf(cluster) >= 15 && {
            'a view that reads as its reader': `create view app.report with (security_invoker = true) as select mail from app.person;
              grant select on app.report to public`,
            "a superuser's view over one that reads as its reader": `create view app.inner_report with (security_invoker = true) as select mail from app.person;
              create view app.report as select mail from app.inner_report; grant select on app.report to public`,
          }),
        }
        for (const [what, create] of Object.entries(harmless)) {
          await run(create)
          const { state, reason } = await judge()
          assert.equal(state, null, `${what}: ${reason}`)
          assert.equal(await shows('clerk', 'select * from app.report'), false, what)
          await undo()
        }
      },
    )

    clause(
      'ENF-436',
      'No statement that the service offers makes the role of the binding a member of a superuser: where a superuser owns a relation, the statement gives the relation another owner.',
      async () => {
        await run(`${superusers}; create table app.other (id int, mail text); create materialized view app.kept as select mail from app.person;
          grant select on app.other, app.kept, app.report to "${clerk}"`)
        const [row] = await run('select current_user::text as superuser')
        const all = policy([...rules, rule('app.other.mail')])
        const notes = describeTurn(await takeTurn(binding, all))
        const { refusals, warnings } = await examine(binding.sql, all.rules)
        assert.doesNotMatch(
          JSON.stringify([notes, refusals, warnings]),
          new RegExp(`GRANT \\\\"${row?.superuser}`),
        )
        const message = notes.find((note) => note.target === 'app.other')?.message
        assert.match(message ?? '', new RegExp(`Run: ALTER TABLE "app"."other" OWNER TO "${binder}"`))
        assert.ok(
          notes.some((note) => note.target === 'app.report' && note.message.includes(`OWNER TO "${owner}"`)),
        )
        for (const { code, message } of notes)
          if (code === 'NotMasked') await run(/Run: (.+?)\.$/.exec(message)?.[1] ?? '')
        assert.equal(judgeUnfinished(await takeTurn(binding, all), []).state, null)
        assert.deepEqual((await examine(binding.sql, all.rules)).refusals, [])
        await undo()
        await run('drop table app.other')
      },
    )
  })
})
