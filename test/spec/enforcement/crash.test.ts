import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openDatabase } from '../../../src/db/database.ts'
import { sqlstateOf } from '../../../src/db/sqlstate.ts'
import { sqlstate } from '../../../src/kernel/sqlstate.ts'
import type { Policy } from '../../../src/masks/policy.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forUsualCluster } from '../../support/postgres.ts'
import { listPrivileges } from '../../support/privileges.ts'
import { waitUntil } from '../../support/wait-until.ts'

forUsualCluster((cluster) => {
  describe('a service that dies while it applies a plan', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let [analyst, auditor]: string[] = []
    before(async () => {
      target = await createMaskedDatabase(cluster)
      analyst = await target.createRole('analyst')
      auditor = await target.createRole('auditor')
      await target.database.sql.unsafe(`
        create table public.t (id int, mail text, pay int); insert into public.t values (1, 'raw', 5);
        create view public.v as select id, mail from public.t;
        grant usage on schema public to public; grant select on public.t, public.v to "${analyst}", "${auditor}"`)
    })
    after(() => target[Symbol.asyncDispose]())

    const seeState = async () => {
      const views = await target.database.sql<{ line: string }[]>`
        select schemaname || '.' || viewname || ': ' || definition as line from pg_views
        where schemaname like 'masked%' order by 1`
      const privileges = await listPrivileges(target.database, [String(analyst), String(auditor)])
      return JSON.stringify([views.map(({ line }) => line), privileges])
    }

    /** Kills the connection before the given statement, as a crash of the process does to its server side. */
    const dieAt = async (wanted: Policy, at: number) => {
      const name = `doomed-${at}`
      const doomed = openDatabase({
        url: target.url,
        poolSize: 1,
        searchPath: 'public',
        applicationName: name,
      })
      const { sql } = target.database
      let steps = 0
      const beforeStep = async (step: number) => {
        steps = Math.max(steps, step + 1)
        if (step === at)
          await sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = ${name}`
      }
      const died = await takeTurn(doomed, wanted, { beforeStep }).then(
        () => false,
        () => true,
      )
      await doomed.close()
      return { died, steps }
    }

    clause('ENF-62', 'A crash before any statement of a plan leaves the old state,…', async () => {
      const some = policy([rule('public.t.mail')], [String(auditor)])
      const more = policy([rule('public.t.mail', 'Email'), rule('public.t.pay')], [])
      const none = policy([])
      for (const [from, to] of [
        [none, some],
        [some, more],
        [more, none],
      ] as const) {
        await takeTurn(target.database, to)
        const after = await seeState()
        await takeTurn(target.database, from)
        const before = await seeState()
        assert.notEqual(after, before)
        const { steps } = await takeTurn(target.database, to, { dryRun: true })
        assert.ok(steps.length > 3)
        for (let at = 0; at < steps.length; at++) {
          const { died } = await dieAt(to, at)
          assert.equal(died, true, `it died before statement ${at}`)
          assert.equal(await seeState(), before, `the old state after statement ${at}`)
        }
        await takeTurn(target.database, to)
        assert.equal(await seeState(), after)
        assert.deepEqual((await takeTurn(target.database, to)).steps, [])
      }
    })

    test('a node that looks while another one enforces the first rules takes their result', async () => {
      await using empty = await createMaskedDatabase(cluster)
      await empty.database.sql.unsafe('create table public.t (id int, mail text)')
      const wanted = policy([rule('public.t.mail')])
      const other = openDatabase({
        url: empty.url,
        poolSize: 1,
        searchPath: 'public',
        applicationName: 'late',
      })
      const attempts = new Set<string>()
      const lookAsOther = async () => {
        for (;;)
          try {
            return await takeTurn(other, wanted)
          } catch (error) {
            // A controller tries again for a lock, and for nothing else.
            assert.equal(sqlstateOf(error), sqlstate.lockNotAvailable, String(error))
          }
      }
      let late: ReturnType<typeof lookAsOther> | undefined
      const first = await takeTurn(empty.database, wanted, {
        async beforeStep(at) {
          if (at !== 5) return
          late = lookAsOther()
          await waitUntil('the other node waits relation by relation', async () => {
            const rows = await empty.database.sql<{ began: string }[]>`
              select xact_start::text as began from pg_stat_activity
              where application_name = 'late' and wait_event_type = 'Lock'`
            for (const { began } of rows) attempts.add(began)
            return attempts.size > 1
          })
        },
      })
      assert.ok(first.steps.length > 6)
      assert.ok(late)
      assert.equal((await late).steps.length, 0)
      await other.close()
    })
  })
})
