import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import type { Database } from '../../../src/db/database.ts'
import { createLeases, LeaseLost } from '../../../src/masks/lease.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
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

  /** Stops the second node in the middle of the turn that this change begins. */
  async function pauseInTurn(method: string, path: string, properties?: object) {
    await target.database.sql`update public.slow set seconds = 0.3`
    const answer = send(paused.origin, method, path, properties).catch(() => undefined)
    const turn = await waitUntil('the turn is under way', async () => {
      const rows = await target.database.sql<{ pid: number }[]>`
        select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'
          and application_name = 'masquerade enforcement'`
      return rows[0]
    })
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
    'One node at a time changes a masked database, by a lease of 8 seconds in the store. A node that was…',
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

      // With records: the change of the other node waits for no longer than the lease.
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
    'One node at a time changes a masked database, by a lease of 8 seconds in the store. A node that was…',
    async () => {
      const { sql } = service.database
      await using other = await createMaskedDatabase()
      await other.database.sql`create table public.t (id int, mail text, pay int)`
      const [row] = await sql<
        { id: string }[]
      >`select id from masked_database where key = ${db.toLowerCase()}`
      const databaseId = row?.id ?? ''
      const [one, two] = [randomUUID(), randomUUID()].map((holder) => createLeases(sql, holder)(databaseId))
      assert.ok(one && two)
      const lapse = () => sql`update enforcement_lease set until = now() where database_id = ${databaseId}`

      const seen = await one.look()
      const held = await one.take(seen, 0)
      let isFree = false
      const waiting = two.look().then((epoch) => {
        isFree = true
        return epoch
      })
      await holdsFor(300, 'the other node waits', () => !isFree)
      await assert.rejects(two.take(seen, 0), LeaseLost)
      await held.requireHeld()
      await held.release()
      assert.equal(await waiting, held.epoch)

      // A turn that is overtaken while it applies its plan undoes it, with records or without.
      for (const before of [[], [rule('public.t.mail')]]) {
        await takeTurn(other.database, policy(before), { lease: two })
        const overtaken = takeTurn(other.database, policy([rule('public.t.pay')]), {
          lease: one,
          async beforeStep(at) {
            if (at > 0) return
            await lapse()
            await (await two.take(await two.look(), 0)).release()
          },
        })
        await assert.rejects(overtaken, LeaseLost)
        assert.deepEqual(await listMasked(other.database), before.length > 0 ? ['t'] : [])
      }

      // A store that was restored has forgotten its epochs; the masked database has not.
      await sql`update enforcement_lease set epoch = 1 where database_id = ${databaseId}`
      await takeTurn(other.database, policy([]), { lease: one })
      assert.deepEqual(await listMasked(other.database), [])
    },
  )
})

async function listMasked({ sql }: Database): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select viewname::text as name from pg_views where schemaname = 'masked_public'`
  return rows.map(({ name }) => name)
}
