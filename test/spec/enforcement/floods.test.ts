import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { UnreadableAnswer } from '../../../src/db/guard-answers.ts'
import { ConnectionFailure } from '../../../src/db/sqlstate.ts'
import { findExposures } from '../../../src/enforcement/exposures/find-exposures.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { PartlyEnforced } from '../../../src/enforcement/reconcile-by-relation.ts'
import { judgeUnfinished } from '../../../src/enforcement/states/judge-unfinished.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

const canary = 'zqcanary'

/** The database, of which the first transaction fails as one that reads too much. */
function failOnce(database: Database, failure: Error): Database {
  let hasFailed = false
  return {
    ...database,
    transaction: async (...given) => {
      if (hasFailed) return await database.transaction(...given)
      hasFailed = true
      throw failure
    },
  }
}

/** A masked role with CREATE on a schema of its own makes the binding run, or read, more than there is time and memory for. */
forEachCluster((cluster) => {
  describe('floods', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let analyst: string
    const run = (text: string) => target.database.sql.unsafe(text)
    const readAs = (name: string, text: string) => target.runAs(name, text)
    const mail = rule('app.people.mail')

    before(async () => {
      target = await createMaskedDatabase(cluster)
      analyst = await target.createRole('analyst')
      await run(`create schema app; grant usage on schema app to public;
        create table app.people (id int, mail text); insert into app.people values (1, '${canary}');
        grant select on app.people to "${analyst}"; create schema lair authorization "${analyst}"`)
    })
    after(() => target[Symbol.asyncDispose]())

    clause(
      'ENF-235',
      'Checks of domains are run for columns that get the mask `Default` alone, not while relations are closed ahead…',
      async () => {
        await reconcile(target.database, policy([mail], [analyst]))
        // Backreferences make this check try every way to part a text of a thousand characters into eight.
        await readAs(
          'analyst',
          `create domain lair.slow as text check (repeat('a', 1001) !~ '${'(a*)'.repeat(8)}\\1\\2\\3\\4\\5\\6\\7\\8$' and value = 'nothing');
          create domain lair.number as text check (value::int >= 0);
          create table lair.own (number lair.number); insert into lair.own values ('7'); create table lair.empty (code lair.slow);
          create view lair.lure as select null::lair.slow as c, id, mail from app.people`,
        )
        const from = Date.now()
        await reconcile(target.database, policy([mail]))
        await assert.rejects(readAs('analyst', 'select mail from app.people'), /permission denied/)
        const rules = [mail, rule('lair.empty.code'), rule('lair.own.number')]
        await reconcile(target.database, policy(rules))
        const [row] = await run('select number from masked_lair.own')
        assert.equal(row?.number, '0', 'a check that fails for some constants accepts another')
        await findExposures(target.database, policy(rules))
        // 21 constants, and 30 seconds for each: ten minutes for one domain.
        assert.ok(Date.now() - from < 120_000, `${Date.now() - from} ms`)
        await reconcile(target.database, policy([]))
        await run('drop schema lair cascade')
      },
    )

    clause(
      'ENF-236',
      'However wide the views of a masked role are, and however many grants their columns have, everything else is closed before…',
      async () => {
        const others: string[] = []
        for (let at = 0; at < 60; at++) others.push(`"${await target.createRole(`other${at}`, 'NOLOGIN')}"`)
        await run(`create schema lair authorization "${analyst}"`)
        await reconcile(target.database, policy([mail], [analyst]))
        const columns = Array.from({ length: 1600 }, (_, at) => `c${at}`)
        for (const name of ['one', 'two'])
          await readAs(
            'analyst',
            `create view lair.${name} as select ${columns.map((column) => `id as ${column}`).join()} from app.people;
            grant select (${columns.join()}) on lair.${name} to ${others.join()}`,
          )
        await readAs('analyst', 'create view lair.small as select mail from app.people')
        const isDenied = () =>
          assert.rejects(readAs('analyst', 'select mail from app.people'), /permission denied/)
        let closings = 0
        const onClosed = async () => {
          closings++
          await isDenied()
        }
        const error = await reconcile(target.database, policy([mail]), { onClosed }).catch((thrown) => thrown)
        assert.equal(closings, 1)
        assert.ok(error instanceof PartlyEnforced, String(error))
        assert.match(error.unfinished.map((one) => one.target).join(), /^lair\.\w+ and 1 more views$/)
        assert.equal(judgeUnfinished(error.outcome, error.unfinished, []).state, null)
        assert.equal((await readAs('analyst', 'select mail from masked_lair.small'))[0]?.mail, 'XXXX')
        await run('drop schema lair cascade')

        const failures = [
          new ConnectionFailure(new UnreadableAnswer()),
          new ConnectionFailure(new Error('Query read timeout')),
          Object.assign(new Error('aborted'), { code: '25P02' }),
        ]
        for (const failure of failures) {
          await reconcile(target.database, policy([mail], [analyst]))
          await reconcile(failOnce(target.database, failure), policy([mail]), { onClosed })
          await isDenied()
        }
        assert.equal(closings, 1 + failures.length)
        await reconcile(target.database, policy([]))
      },
    )

    clause(
      'ENF-424',
      'Grants on the twin of a view count as grants on the view (ENF-236): its owner owns the twin.…',
      async () => {
        await run(`create schema if not exists lair authorization "${analyst}"; create table app.salary (id int, pay text);
          insert into app.salary values (1, '${canary}'); grant select on app.salary to "${analyst}"`)
        const others: string[] = []
        for (let at = 0; at < 60; at++) others.push(`"${await target.createRole(`grantee${at}`, 'NOLOGIN')}"`)
        const columns = Array.from({ length: 1600 }, (_, at) => `c${at}`)
        await readAs(
          'analyst',
          `create view lair.small as select mail from app.people;
          create view lair.wide as select ${columns.map((column) => `id as ${column}`).join()} from app.people`,
        )
        await reconcile(target.database, policy([mail]))
        await readAs('analyst', `grant select (${columns.join()}) on masked_lair.wide to ${others.join()}`)
        const pay = rule('app.salary.pay')
        const turn = async (...rules: (typeof mail)[]) => {
          let closings = 0
          const onClosed = async () => void closings++
          const error = await reconcile(target.database, policy(rules), { onClosed }).catch(
            (thrown) => thrown,
          )
          assert.equal(closings, 1)
          assert.ok(error instanceof PartlyEnforced, String(error))
          assert.equal(judgeUnfinished(error.outcome, error.unfinished, []).state, null)
          return error.unfinished.map((one) => one.target)
        }
        assert.deepEqual(await turn(mail, pay), ['lair.wide'])
        assert.deepEqual(await readAs('analyst', 'select pay from masked_app.salary'), [{ pay: 'XXXX' }])

        await readAs('analyst', 'drop view lair.wide')
        assert.deepEqual(await turn(mail, pay, rule('app.people.id')), ['masked_lair.wide'])
        assert.deepEqual(await readAs('analyst', 'select * from masked_app.people'), [
          { id: 0, mail: 'XXXX' },
        ])
        assert.deepEqual(await readAs('analyst', 'select mail from masked_lair.small'), [{ mail: 'XXXX' }])
        await readAs('analyst', `revoke all on masked_lair.wide from ${others.join()}`)
        await reconcile(target.database, policy([mail]))
        assert.deepEqual(await run(`select from pg_class where relname = 'wide'`), [])
        await reconcile(target.database, policy([]))
      },
    )

    clause(
      'ENF-496',
      'However long the definition of a view is, and however many masked relations its constants name, a turn searches the rule of its twin once…',
      async () => {
        await run(`create schema if not exists lair authorization "${analyst}"`)
        // A session counts for certain what it did when it ends.
        const turn = async () => {
          const session = openDatabase({ url: target.url })
          await reconcile(session, policy([mail])).finally(() => session.close())
        }
        const countLooks = async () => {
          const [row] = await run(`select s.idx_scan::int as count from pg_stat_all_tables s
            join pg_class c on c.reltoastrelid = s.relid where c.oid = 'pg_rewrite'::regclass`)
          return Number(row?.count)
        }
        const numbers = Array.from({ length: 60 }, (_, at) => at)
        await readAs(
          'analyst',
          numbers
            .map(
              (at) =>
                `create table lair.table${at} (); create view lair.view${at} as select mail from app.people`,
            )
            .join(';'),
        )
        await turn()
        // So long that each look at the rule is one into its TOAST table, which the server counts.
        const long = Array.from({ length: 300 }, () => `'${randomBytes(100).toString('hex')}'`).join()
        const looks: number[] = []
        for (const named of ['table', 'view']) {
          const names = numbers.map((at) => `'lair.${named}${at}'::regclass`).join()
          await readAs(
            'analyst',
            `create view lair.long as select mail, array[${names}] as names, array[${long}] as long from app.people`,
          )
          const before = await countLooks()
          await turn()
          await waitUntil('the turn is counted', async () => (await countLooks()) > before)
          looks.push((await countLooks()) - before)
          assert.deepEqual(await readAs('analyst', 'select mail from masked_lair.long'), [{ mail: 'XXXX' }])
          await readAs('analyst', 'drop view lair.long')
          await turn()
        }
        const [plain = 0, masked = 0] = looks
        assert.ok(masked < plain + numbers.length / 2, `${plain} and ${masked}`)
        await reconcile(target.database, policy([]))
      },
    )
  })
})
