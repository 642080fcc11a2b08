import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import type { Outcome } from '../../../src/enforcement/in-turn.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { PartlyEnforced } from '../../../src/enforcement/reconcile-by-relation.ts'
import { judgeUnfinished } from '../../../src/enforcement/states/judge-unfinished.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

const canary = 'zqcanary'

/** The binding acts for the owner of the tables, and not for the masked role that makes materialized views over them. */
forEachCluster((cluster) => {
  describe('floods of materialized views', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let binding: Database
    const run = (text: string) => target.database.sql.unsafe(text)
    const make = (text: string) => target.runAs('mallory', text)
    const [mail, note] = [rule('app.person.mail'), rule('app.person.note')]
    const isDenied = () =>
      assert.rejects(target.runAs('clerk', 'select note from app.person'), /permission denied/)

    before(async () => {
      target = await createMaskedDatabase(cluster)
      const clerk = await target.createRole('clerk')
      const mallory = await target.createRole('mallory')
      const owner = await target.createRole('owner', '')
      const binder = await target.createRole('binder', 'LOGIN CREATEROLE')
      await run(`create schema app; grant usage on schema app to public; grant create on schema app to "${owner}";
        create schema lair authorization "${mallory}"; create table app.person (id int primary key, mail text, note text);
        insert into app.person values (1, '${canary}', '${canary}'); grant select on app.person to "${clerk}";
        grant select (id) on app.person to "${mallory}"; alter table app.person owner to "${owner}"; grant "${owner}" to "${binder}";
        grant create on database "${target.url.replace(/^.*\//, '')}" to "${binder}"`)
      binding = openDatabase({
        url: target.urlOf('binder'),
        poolSize: 2,
        searchPath: 'public',
        statementTimeoutMs: 15_000,
      })
    })
    after(async () => {
      await binding?.close()
      await target[Symbol.asyncDispose]()
    })

    clause(
      'ENF-480',
      'However many columns materialized views of a masked role read, and however long their rules are, …',
      async () => {
        await reconcile(binding, policy([mail]))
        // 6,000 dependencies each, of a rule of megabytes.
        const names = Array.from({ length: 12 }, (_, at) => `t${at}`)
        const columns = Array.from({ length: 500 }, (_, at) => `c${at}`)
        for (const name of names)
          await make(`create table lair.${name} (${columns.map((column) => `${column} int`).join()})`)
        const terms = columns.flatMap((column) => names.map((name) => `coalesce(${name}.${column}, 0)`))
        const sums = Array.from(
          { length: 1500 },
          (_, at) => `${terms.slice(at * 4, at * 4 + 4).join(' + ')} as o${at}`,
        )
        const from = names.map((name) => `lair.${name}`).join()
        for (const name of ['one', 'two'])
          await make(
            `create materialized view lair.${name} as select ${sums.join()}, p.id from app.person p, ${from} with no data`,
          )
        await reconcile(binding, policy([mail, note]))
        await isDenied()
        await reconcile(binding, policy([]))
        await make(`drop table ${from} cascade`)
      },
    )

    clause('ENF-481', 'Materialized views of a masked role count as its views do (ENF-236): …', async () => {
      const others: string[] = []
      for (let at = 0; at < 60; at++) others.push(`"${await target.createRole(`other${at}`, 'NOLOGIN')}"`)
      const columns = Array.from({ length: 1600 }, (_, at) => `c${at}`)
      const select = `select ${columns.map((column) => `id as ${column}`).join()} from app.person`
      const floods: Readonly<Record<string, readonly [create: string, read: readonly string[]]>> = {
        'without data': [`create materialized view lair.wide as ${select} with no data`, ['person']],
        'with data': [`create materialized view lair.wide as ${select}`, ['person']],
        'a view beside one with data': [
          `create materialized view lair.filled as select id from app.person; create view lair.wide as ${select}`,
          ['filled', 'person'],
        ],
      }
      for (const [what, [create, expected]] of Object.entries(floods)) {
        await reconcile(binding, policy([mail]))
        await make(`${create}; grant select (${columns.join()}) on lair.wide to ${others.join()}`)
        let isClosed = false
        const onClosed = async () => {
          isClosed = true
          await isDenied()
        }
        const failing: Database = {
          ...binding,
          transaction: async (...given) => {
            if (isClosed) throw new Error('after closing')
            return await binding.transaction(...given)
          },
        }
        const read: string[] = []
        const onUnopened = async ({ snapshot }: Outcome) => {
          read.push(...snapshot.relations.map(({ name }) => name))
        }
        const turn = reconcile(failing, policy([mail, note]), { onClosed, onUnopened })
        await assert.rejects(turn, /after closing/, what)
        assert.deepEqual(read.toSorted(), expected, what)
        if (what === 'without data') {
          const error = await reconcile(binding, policy([mail, note])).catch((thrown) => thrown)
          assert.ok(error instanceof PartlyEnforced, String(error))
          assert.deepEqual(
            error.unfinished.map((one) => one.target),
            ['lair.wide'],
          )
          assert.equal(judgeUnfinished(error.outcome, error.unfinished, []).state, null)
        }
        await run('drop schema lair cascade')
        await run(`create schema lair authorization "${target.role('mallory')}"`)
      }
      await reconcile(binding, policy([]))
    })
  })
})
