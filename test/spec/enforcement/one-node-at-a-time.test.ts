import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type { Database } from '../../../src/db/database.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { TurnUnderWay } from '../../../src/masks/unfit.ts'
import { clause } from '../../support/clause.ts'
import { bindingOf, createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { apiVersion, emailRule, freshDatabase, policyUrl, ruleUrl } from '../../support/masking.ts'
import { type SecondNode, sharedAddress, startSecondNode } from '../../support/second-node.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { holdsFor, waitUntil } from '../../support/wait-until.ts'

describe('two nodes that change one masked database', () => {
  const db = freshDatabase()
  let service: TestService
  let paused: SecondNode
  let target: Awaited<ReturnType<typeof createMaskedDatabase>>
  let token: string

  before(async () => {
    service = await startTestService({ ...sharedAddress, MASQUERADE_AUDIT_SECONDS: '3600' })
    paused = await startSecondNode(service, { MASQUERADE_AUDIT_SECONDS: '3600' })
    token = service.tokenFor({ role: 'Owner' })
    target = await createMaskedDatabase()
    await target.createRole('analyst')
    // Statements that change the catalog take as long as the table says.
    await target.database.sql.unsafe(`
      create table public.person (id int, email text, phone text);
      insert into public.person values (1, 'ann@example.com', '555');
      grant usage on schema public to public; grant select on public.person to "${target.role('analyst')}";
      create table public.slow (seconds float); insert into public.slow values (0);
      create function public.be_slow() returns event_trigger language plpgsql security definer as $$
        begin perform pg_sleep((select seconds from public.slow)); end $$;
      create event trigger slow on ddl_command_end when tag in ('REVOKE', 'CREATE VIEW', 'CREATE SCHEMA')
        execute function public.be_slow()`)
    await send(service.origin, 'PUT', db, { binding: bindingOf(target.url) })
  })
  after(async () => {
    await paused?.[Symbol.asyncDispose]()
    await service?.[Symbol.asyncDispose]()
    await target?.[Symbol.asyncDispose]()
  })

  async function send(origin: string, method: string, path: string, properties?: object) {
    const response = await fetch(`${origin}${path}?${apiVersion}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(properties && { body: JSON.stringify({ properties }) }),
    })
    const text = await response.text()
    return { status: response.status, enforcement: response.headers.get('x-masquerade-enforcement'), text }
  }

  const isInTurn = async () => {
    const rows = await target.database.sql<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'
        and application_name = 'masquerade enforcement'`
    return rows[0]
  }

  /** Stops the second node in the middle of the turn that this change begins. */
  async function pauseInTurn(method: string, path: string, properties?: object) {
    await target.database.sql`update public.slow set seconds = 0.3`
    const answer = send(paused.origin, method, path, properties).catch(() => undefined)
    const turn = await waitUntil('the turn is under way', isInTurn)
    paused.child.kill('SIGSTOP')
    await target.database.sql`update public.slow set seconds = 0`
    return { answer, pid: turn?.pid ?? 0 }
  }

  /** By one session: asked again and again, others would use up the connections of the server. */
  let analyst: Database | undefined
  const isRaw = async (column: string) => {
    analyst ??= target.connectAs('analyst')
    return await analyst.sql.unsafe(`select ${column} from public.person`).then(
      () => true,
      () => false,
    )
  }

  clause(
    'ENF-210',
    'One node at a time changes a masked database, by a lock in it under which it reads the policy. A node…',
    async () => {
      // The first rule of the database: there are no records yet that a lock could be taken on.
      const first = await pauseInTurn('PUT', ruleUrl(db, 'mail'), emailRule)
      const deleted = await send(service.origin, 'DELETE', ruleUrl(db, 'mail'))
      assert.equal(deleted.status, 200)
      const isOver = async () => {
        const rows = await target.database.sql`select 1 from pg_stat_activity where pid = ${first.pid}`
        return rows.length === 0
      }
      await waitUntil('PostgreSQL ends the idle turn', isOver)
      paused.child.kill('SIGCONT')
      let isAnswered = false
      void first.answer.then(() => {
        isAnswered = true
      })
      await waitUntil('the change is answered', async () => {
        assert.ok(await isRaw('email'), 'the deleted rule was enforced')
        return isAnswered
      })
      await holdsFor(500, 'nothing is masked', () => isRaw('email'))

      // A turn without records cannot lock: the other node sees nothing of it, and has the masks removed when they are there.
      await target.database.sql`update public.slow set seconds = 1`
      const overtaken = send(paused.origin, 'PUT', ruleUrl(db, 'mail'), emailRule)
      await waitUntil('the first turn is under way', isInTurn)
      await send(service.origin, 'DELETE', ruleUrl(db, 'mail'))
      await target.database.sql`update public.slow set seconds = 0`
      await overtaken
      await waitUntil('the node looks again', () => isRaw('email'))

      // With records: the change of the other node waits until PostgreSQL ends the turn.
      const mail = await send(service.origin, 'PUT', ruleUrl(db, 'mail'), emailRule)
      assert.equal(
        mail.enforcement,
        'Enforced',
        (await send(service.origin, 'GET', `${policyUrl(db)}/enforcement`)).text,
      )
      const phone = { ...emailRule, columnName: 'phone' }
      const second = await pauseInTurn('PUT', ruleUrl(db, 'phone'), phone)
      await send(service.origin, 'DELETE', ruleUrl(db, 'phone'))
      const email = await waitUntil('the other node has its turn', async () => {
        const { enforcement } = await send(service.origin, 'GET', ruleUrl(db, 'mail'))
        return (enforcement ?? 'Enforced') === 'Enforced' && (await isRaw('phone'))
      })
      assert.ok(email)
      paused.child.kill('SIGCONT')
      await second.answer
      await holdsFor(500, 'the telephone number is not masked', () => isRaw('phone'))
      assert.equal(await isRaw('email'), false)
    },
  )

  clause(
    'ENF-210',
    'One node at a time changes a masked database, by a lock in it under which it reads the policy. A node…',
    async () => {
      await using other = await createMaskedDatabase()
      const { database } = other
      await database.sql`create table public.t (id int, mail text, pay int)`
      await takeTurn(database, policy([rule('public.t.mail')]))
      const order: string[] = []
      const { promise: isGiven, resolve: give } = Promise.withResolvers<void>()
      const first = takeTurn(database, policy([rule('public.t.pay')]), {
        async beforeStep(at) {
          if (at === 0) await isGiven
        },
      })
      const readNext = async () => {
        order.push('the second reads the policy')
        return policy([])
      }
      const waits = async () => {
        const rows = await database.sql`
          select 1 from pg_locks where not granted and mode = 'ShareRowExclusiveLock'
            and database = (select oid from pg_database where datname = current_database())`
        return rows.length > 0
      }
      await holdsFor(100, 'the first turn has the lock', async () => !(await waits()))
      const second = takeTurn(database, readNext)
      await waitUntil('the second turn waits', waits)
      assert.equal(order.length, 0)
      order.push('the first turn goes on')
      give()
      await Promise.all([first, second])
      assert.deepEqual(order, ['the first turn goes on', 'the second reads the policy'])
      assert.deepEqual(await listMasked(database), [])
    },
  )

  clause(
    'ENF-218',
    'A change of a rule takes at most 30 round trips in all, of the node to the…',
    async () => {
      await using other = await createMaskedDatabase()
      const { database } = other
      await database.sql`create table public.t (id int, mail text)`
      await takeTurn(database, policy([rule('public.t.mail')]))
      await database.transaction(async (tx) => {
        await tx`lock table masquerade_guard.relation in share row exclusive mode`
        const from = performance.now()
        await assert.rejects(takeTurn(database, policy([])), TurnUnderWay)
        const ms = performance.now() - from
        assert.ok(ms > 4_000 && ms < 9_000, `${ms} ms`)
      })
    },
  )
})

async function listMasked({ sql }: Database): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select viewname::text as name from pg_views where schemaname = 'masked_public'`
  return rows.map(({ name }) => name)
}
