import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import type { Policy } from '../../../src/enforcement/policy.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { PartlyEnforced } from '../../../src/enforcement/reconcile-by-relation.ts'
import { judgeUnfinished } from '../../../src/enforcement/states/judge-unfinished.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

const canary = 'zqcanary'

/** A masked role owns the schemas in which masked tables of another role are, and renames them while a turn goes on. */
forEachCluster((cluster) => {
  describe('exchanged names', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let first: Database
    let second: Database
    let [owner, analyst]: string[] = []
    const rules = policy([rule('vault.person.mail')])
    const run = (text: string) => target.database.sql.unsafe(text)
    const readAs = (name: string, text: string) => target.runAs(name, text)
    const act = (text: string) => first.sql.unsafe(text)
    const actBeside = (text: string) => second.sql.unsafe(text)
    const isDenied = (text: string) =>
      assert.rejects(readAs('friend', text), /permission denied|does not exist/, text)

    before(async () => {
      target = await createMaskedDatabase(cluster)
      owner = await target.createRole('owner', 'NOLOGIN')
      analyst = await target.createRole('analyst')
      await target.createRole('friend')
      const open = () => openDatabase({ url: target.urlOf('analyst'), poolSize: 1, searchPath: 'public' })
      first = open()
      second = open()
      await run(`grant create on database "${target.url.replace(/^.*\//, '')}" to "${analyst}"`)
    })
    after(async () => {
      await first.close()
      await second.close()
      await target[Symbol.asyncDispose]()
    })

    /** The schemas are the analyst's, the masked table in one of them is not. */
    const prepare = async () => {
      await clear()
      await run(`create schema vault authorization "${analyst}"; create schema lair authorization "${analyst}";
        create schema app; grant usage on schema app to public; create table vault.person (id int, mail text);
        insert into vault.person values (1, '${canary}'); alter table vault.person owner to "${owner}"`)
      await act('grant usage on schema vault, lair to public')
    }
    const clear = async () => {
      await reconcile(target.database, policy([]))
      for (const schema of ['vault', 'lair', 'app', 'away', 'other'])
        await run(`drop schema if exists "${schema}" cascade`)
    }

    /** The view loses its mask in the next turn, and gets back its grant. */
    const prepareRelease = async () => {
      await prepare()
      await act(`create view lair.person as select id from vault.person; grant select on lair.person to public;
        create view lair.early as select id from vault.person`)
      await reconcile(target.database, rules)
      await isDenied('select id from vault.person')
      await act(`create or replace view lair.person as select 1 as id;
        create or replace view lair.early as select id from vault.person where id > 0`)
    }
    const exchange = 'begin; alter schema lair rename to away; alter schema vault rename to lair; commit'
    const exchangeBack = 'begin; alter schema lair rename to vault; alter schema away rename to lair; commit'

    /** Transactions that wait for a lock on a relation, each by its start. */
    const listWaits = (relation: string) =>
      run(`select a.xact_start::text as start from pg_locks l join pg_stat_activity a using (pid)
        where not l.granted and l.relation = '${relation}'::regclass`)
    const waits = (relation: string) =>
      waitUntil('the turn waits', async () => (await listWaits(relation))[0]?.start, { everyMs: 2 })

    /** Runs an action before a step, and another one before the next step, in the first attempt alone. */
    const interfere = async (
      wanted: Policy,
      pattern: RegExp,
      action: () => unknown,
      next?: () => unknown,
    ) => {
      const { steps } = await reconcile(target.database, wanted, { dryRun: true })
      const found = steps.findIndex(({ sql }) => pattern.test(sql))
      assert.ok(found >= 0 && found < steps.length - 1, steps.map(({ sql }) => sql).join('\n'))
      const actions = new Map([
        [found, action],
        [found + 1, next],
      ])
      return async (at: number) => {
        const due = actions.get(at)
        actions.delete(at)
        await due?.()
      }
    }

    const stays =
      'A turn is committed only where the schemas, relations and roles that its statements name are those that it has looked at.'

    clause('ENF-265', `${stays}…`, async () => {
      await prepareRelease()
      await act("begin; comment on view masked_lair.early is 'x'")
      const turn = reconcile(target.database, rules, { lockTimeoutMs: 20_000 })
      await waits('masked_lair.early')
      await actBeside(exchange)
      await act('commit')
      // The twin of the released view is still where that of the table is to be now.
      await turn.catch((error: unknown) => assert.ok(error instanceof PartlyEnforced))
      for (const text of ['select mail from lair.person', 'select id from lair.person']) await isDenied(text)
      await reconcile(target.database, rules)
      await isDenied('select id from lair.person')
      assert.equal((await readAs('friend', 'select id from away.person'))[0]?.id, 1)
    })

    clause(
      'ENF-265',
      `${stays} Where another role renamed a schema meanwhile, also for a moment, or…`,
      async () => {
        await prepareRelease()
        const beforeStep = await interfere(
          rules,
          /^GRANT SELECT ON "lair"."person" TO PUBLIC/,
          () => act(exchange),
          () => act(exchangeBack),
        )
        await reconcile(target.database, rules, { beforeStep })
        await isDenied('select id from vault.person')
        assert.equal((await readAs('friend', 'select id from lair.person'))[0]?.id, 1)
      },
    )

    clause('ENF-265', `${stays}…`, async () => {
      await prepare()
      await run(
        `create view app.names as select id from vault.person; alter view app.names owner to "${owner}"`,
      )
      const reader = await target.createRole('reader')
      await run(`grant select on app.names to "${reader}"`)
      await reconcile(target.database, rules)
      await run('create or replace view app.names as select 7 as id')
      const beforeStep = await interfere(rules, /^GRANT SELECT ON "app"."names" TO/, () =>
        run(
          `alter role "${reader}" rename to "${reader}_"; alter role "${target.role('friend')}" rename to "${reader}"`,
        ),
      )
      await reconcile(target.database, rules, { beforeStep })
      await run(
        `alter role "${reader}" rename to "${target.role('friend')}"; alter role "${reader}_" rename to "${reader}"`,
      )
      const [held] = await run(`select has_table_privilege('${reader}', 'app.names', 'select') as reader,
        has_table_privilege('${target.role('friend')}', 'app.names', 'select') as friend`)
      assert.deepEqual(held, { reader: true, friend: false })
    })

    for (const isMasked of [false, true])
      clause(
        'ENF-266',
        'The twin of a view reads what the view reads, with twins in place of what is masked: a twin that reads anything else, such as the masked table itself, is not made.',
        async () => {
          await prepare()
          await act(
            `create table lair.hold (id int); create view lair.early as select p.id from vault.person p, lair.hold`,
          )
          await run(`create view app.v as select id, mail from vault.person; alter view app.v owner to "${owner}";
          grant select on app.v to "${analyst}"`)
          if (isMasked) await reconcile(target.database, rules)
          await act('begin; lock table lair.hold in access exclusive mode')
          const turn = reconcile(target.database, rules)
          await waits('lair.hold')
          await actBeside(`begin; alter schema vault rename to away; create schema vault; create table vault.person (id int, mail text);
          grant usage on schema vault, away to public; commit`)
          await act('commit')
          await turn
          const rows = await act('select * from masked_app.v').catch(() => [])
          assert.doesNotMatch(JSON.stringify(rows), new RegExp(canary))
        },
      )

    clause(
      'ENF-266',
      'The twin of a view reads what the view reads, with twins in place of what is masked: a twin that…',
      async () => {
        await prepare()
        await run(`create table app.open (id int, mail text); insert into app.open values (1, 'own'); create table lair.person (id int, mail text);
        alter table app.open owner to "${owner}"; alter table lair.person owner to "${owner}";
        create view app.v as select p.id, p.mail, o.mail as own from lair.person p full join app.open o using (id);
        alter view app.v owner to "${owner}"; grant select on app.v to "${analyst}"`)
        const both = policy([rule('vault.person.mail'), rule('app.open.mail')])
        await reconcile(target.database, rules)
        // A turn that looks at the other table alone.
        const focus = () => [{ schema: 'app', table: 'open' }]
        const beforeStep = await interfere(
          both,
          /^CREATE VIEW "masked_app"."v"/,
          () => act(exchange),
          () => act(exchangeBack),
        )
        await reconcile(target.database, both, { beforeStep, focus })
        const rows = await act('select * from masked_app.v')
        assert.equal(rows?.length, 1)
        assert.doesNotMatch(JSON.stringify(rows), new RegExp(canary))
      },
    )

    clause(
      'ENF-267',
      'Where names are exchanged again and again, the relations that they are of stay closed, others…',
      async () => {
        await prepareRelease()
        await run(`create table app.open (id int, mail text); grant select on app.open to public`)
        const wider = policy([...rules.rules, rule('app.open.mail')])
        await act("begin; comment on view masked_lair.early is 'x'")
        const turn = reconcile(target.database, wider).catch((error: unknown) => error)
        const started = await waits('masked_lair.early')
        await waitUntil(
          'the turn waits again, relation by relation',
          async () => (await listWaits('masked_lair.early')).some(({ start }) => start !== started),
          { everyMs: 2 },
        )
        await actBeside(exchange)
        const error = await turn
        await act('commit')
        assert.ok(error instanceof PartlyEnforced)
        for (const text of [
          'select id from lair.person',
          'select mail from lair.person',
          'select mail from app.open',
        ])
          await isDenied(text)
        const { state, reason } = judgeUnfinished(error.outcome, error.unfinished, [])
        assert.equal(state, 'Failed')
        assert.match(reason, /"lair"."person" could not be changed: other sessions renamed/)
        await reconcile(target.database, wider).catch(() => {})
        await reconcile(target.database, wider)
        await isDenied('select id from lair.person')
      },
    )

    clause(
      'ENF-267',
      'Where names are exchanged again and again, the relations that they are of stay closed, others are changed as the policy says…',
      async () => {
        await prepare()
        await run(`grant select on vault.person to "${analyst}";
          create table app.open (id int, mail text); alter table app.open owner to "${owner}";
          grant select on app.open to public`)
        // No superuser, who would keep the schema.
        const binder = await target.createRole('binder', 'LOGIN CREATEROLE')
        await run(`grant create on database "${target.url.replace(/^.*\//, '')}" to "${binder}";
          grant "${owner}", "${analyst}" to "${binder}"; grant create on schema app to "${owner}"`)
        await act('create materialized view lair.m as select id from vault.person')
        await act('revoke usage on schema lair from public')
        let [current, renames, isOver] = ['lair', 0, false]
        const renaming = (async () => {
          for (; !isOver; renames++) {
            const next = `lair_${renames}`
            await act(
              `begin; alter schema "${current}" rename to "${next}"; select pg_catalog.pg_sleep(0.015); commit`,
            )
            current = next
          }
        })()
        await waitUntil('the schema is being renamed', () => renames > 2)
        const wider = policy([...rules.rules, rule('app.open.mail')])
        const error = await reconcile(target.connectAs('binder'), wider).catch((cause: unknown) => cause)
        isOver = true
        await renaming
        assert.ok(renames > 5)
        for (const text of ['select mail from app.open', 'select mail from vault.person'])
          await isDenied(text)
        if (error instanceof Error) assert.ok(error instanceof PartlyEnforced, error.message)
        await act(`alter schema "${current}" rename to lair`)
        await reconcile(target.connectAs('binder'), policy([]))
      },
    )

    clause(
      'ENF-268',
      'A superuser as the role of the binding keeps schemas that were renamed during a turn from being…',
      async () => {
        await prepare()
        await run('grant select on vault.person to public')
        let [renamed, at] = [0, 0]
        await reconcile(target.database, rules, {
          async beforeStep(step) {
            if (step !== 1) return
            at++
            await act(
              `set lock_timeout = 100; alter schema vault rename to away; alter schema away rename to vault`,
            ).then(
              () => renamed++,
              () => {},
            )
          },
        })
        assert.deepEqual([renamed, at], [1, 2])
        await isDenied('select mail from vault.person')
      },
    )
  })
})
