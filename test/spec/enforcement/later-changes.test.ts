import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { createStateStore } from '../../../src/masking/states/state-store.ts'
import { useBoundDatabase } from '../../support/bound-database.ts'
import { clause } from '../../support/clause.ts'
import { apiVersion, policyUrl, ruleUrl } from '../../support/masking.ts'
import { startOtherNode } from '../../support/other-node.ts'
import type { TestService } from '../../support/service.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('changes that are stored during a turn', () => {
  const { masking, db, bound } = useBoundDatabase()
  let other: TestService
  before(async () => {
    other = await startOtherNode(masking.service(), { MASQUERADE_AUDIT_SECONDS: '3600' })
    await bound().database.sql.unsafe(`
      create table public.slow (seconds float8); insert into public.slow values (0);
      create function public.be_slow() returns event_trigger language plpgsql security definer as
        $$ begin perform pg_sleep((select seconds from public.slow)); end $$;
      create event trigger slow on ddl_command_end when tag in ('REVOKE', 'CREATE VIEW')
        execute function public.be_slow()`)
  })
  after(() => other?.[Symbol.asyncDispose]())

  const beSlow = (seconds: number) => bound().database.sql`update public.slow set seconds = ${seconds}`

  /** The state that the answer tells. */
  async function mask(columnName: string, node: TestService = masking.service()) {
    const where = { schemaName: 'public', tableName: 'person', columnName }
    const token = node.tokenFor({ role: 'Owner' })
    const body = { properties: { ...where, maskingFunction: 'Default' } }
    const put = await node.request('PUT', `${ruleUrl(db, columnName)}?${apiVersion}`, { token, body })
    assert.ok(put.status < 300, put.text)
    return put.headers.get('x-masquerade-enforcement')
  }

  const isSleeping = async () => {
    const rows = await bound().database.sql`
      select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
    return rows.length > 0
  }

  const read = async () => (await masking.send('GET', `${policyUrl(db)}/enforcement`)).body

  const isRaw = async (column: string) => {
    const [row] = await bound().database.sql<{ can: boolean }[]>`
      select has_column_privilege(${bound().role('analyst')}, 'public.person', ${column}, 'SELECT') as can`
    return row?.can === true
  }

  clause(
    'ENF-427',
    'A turn that began before a change was stored does not write `Enforced` over the `Pending` of the change…',
    async () => {
      for (const [first, second, node] of [
        ['contact', 'card', masking.service()],
        ['pay', 'note', other],
      ] as const) {
        await beSlow(0.4)
        const answers = [mask(first)]
        await waitUntil('the first turn has read its policy', isSleeping)
        answers.push(mask(second, node))
        let isAnswered = false
        const answered = Promise.all(answers).finally(() => {
          isAnswered = true
        })
        await waitUntil('the second change is stored', async () => {
          const [row] = await masking.service().database.sql<{ count: number }[]>`
            select count(*)::int from masking_rule where key = ${second}`
          return row?.count === 1
        })
        while (!isAnswered) {
          const { state, reason } = await read()
          // The column is masked once: what is raw after the state was read was raw before.
          if (await isRaw(second)) assert.equal(state, 'Pending', `${second} is raw: ${reason}`)
        }
        assert.deepEqual(await answered, ['Enforced', 'Enforced'])
        assert.equal((await read()).state, 'Enforced')
        await beSlow(0)
      }

      const store = masking.service().database
      const [row] = await store.sql<
        { id: string }[]
      >`select id from masked_database where key = ${db.toLowerCase()}`
      const id = row?.id ?? ''
      // Every kind of change, and one that finds no state of the database. The turns of the nodes see nothing of this transaction.
      await store.transaction(async (sql) => {
        const states = createStateStore(sql)
        const facts = { notes: [], drifted: false, auditEveryMs: 3_600_000 }
        const refuses = async (change: () => Promise<unknown>) => {
          const { lastChange } = await states.readBeforeTurn(id)
          await change()
          const notes = [{ code: 'Locked', target: String(lastChange), message: '' } as const]
          assert.equal(await states.writeEnforced(id, { ...facts, lastChange, notes }), undefined)
          const pending = await states.read(id)
          // The next turn may look at the tables of the change alone: what the refused one found stays.
          assert.deepEqual([pending.state, pending.notes], ['Pending', notes])
          const { lastChange: now } = await states.readBeforeTurn(id)
          const written = await states.writeEnforced(id, { ...facts, lastChange: now })
          assert.match(written?.state ?? '', /^(Enforced|Off)$/)
        }
        const forget = () => sql`delete from enforcement_state where database_id = ${id}`
        for (const change of [
          () => sql`update masking_rule set alias_name = null where database_id = ${id}`,
          () => sql`delete from masking_rule where database_id = ${id} and key = 'note'`,
          () => sql`update masked_database set exempt_principals = 'auditors' where id = ${id}`,
          () => sql`update masked_database set policy_state = 'Disabled' where id = ${id}`,
          () => sql`update masked_database set policy_mode = policy_mode where id = ${id}`,
          () => sql`update masked_database set binding_version = binding_version + 1 where id = ${id}`,
          () =>
            sql`insert into suspension (database_id, schema_name, table_name) values (${id}, 'public', 'person')`,
          () => sql`delete from suspension where database_id = ${id}`,
          () => sql`insert into role_mapping (database_id, key, name, database_role, principal_id)
            values (${id}, 'm', 'm', 'readers', gen_random_uuid())`,
          () => sql`delete from role_mapping where database_id = ${id}`,
        ])
          await refuses(change)
        await forget()
        await refuses(() => sql`update masked_database set policy_state = 'Enabled' where id = ${id}`)
        // A turn of before the database was unbound, and of before its state was made anew.
        const { lastChange } = await states.readBeforeTurn(id)
        await forget()
        assert.equal(await states.writeEnforced(id, { ...facts, lastChange }), undefined)
      })
    },
  )
})
