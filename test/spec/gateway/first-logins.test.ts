import assert from 'node:assert/strict'
import { before, describe, type TestContext } from 'node:test'
import type pg from 'pg'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { createTestLogins } from '../../support/logins.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { bringPeople, endedBy } from '../../support/people.ts'
import { holdTurns } from '../../support/turn-locks.ts'
import { holdsFor, waitUntil } from '../../support/wait-until.ts'

/** Several times the documented time: machines that run tests are busy. */
const patienceMs = 8_000
/** Fewer than the logins that the gateway lets talk to databases at once, more than a binding has connections. */
const many = 24

describe('first logins at one moment', () => {
  const gateway = useGateway()
  let people: Awaited<ReturnType<typeof bringPeople>>
  let [readers, exempt] = ['', '']
  before(async () => {
    people = await bringPeople(gateway)
    readers = await people.directory.group()
    exempt = await people.directory.group()
    await people.map(readers)
    const put = await gateway.masking.putPolicy(gateway.db, {
      dataMaskingState: 'Enabled',
      exemptPrincipals: `${gateway.masked().role('auditor')};${exempt}`,
    })
    assert.equal(put.headers.get('x-masquerade-enforcement'), 'Enforced', put.text)
  })
  const raw = [{ email: 'ann@example.com' }]
  const read = async (client: pg.Client) =>
    (await client.query('select email from public.customers where id = 1')).rows

  /** Withdraws an exemption while `many` logins, of so many people without a login role, wait for a turn. */
  async function withdrawBehind(t: TestContext, newcomers: number) {
    const ana = await people.user(readers, exempt)
    const client = await people.connect(ana.name, ana.token)
    assert.deepEqual(await read(client), raw)
    const comers = await Promise.all(Array.from({ length: newcomers }, () => people.user(readers)))
    const logins: Promise<pg.Client>[] = []
    let withdrawnAt = 0
    await endedBy(client, patienceMs, async () => {
      await using turns = await holdTurns(gateway.masked())
      for (let at = 0; at < many; at++) {
        const { name = '', token = '' } = comers[at % newcomers] ?? {}
        logins.push(people.connect(name, token))
      }
      void Promise.allSettled(logins)
      await waitUntil('a turn waits', async () => (await turns.countWaiting()) > 0)
      await people.leave(exempt, ana.id)
      await holdsFor(500, 'one turn waits', async () => (await turns.countWaiting()) <= 1)
      withdrawnAt = performance.now()
    })
    const endedAt = performance.now()
    for (const one of await Promise.all(logins)) {
      assert.notDeepEqual(await read(one), raw)
      await one.end()
    }
    const [ended, all] = [endedAt, performance.now()].map((at) => ((at - withdrawnAt) / 1000).toFixed(1))
    t.diagnostic(`the session ended after ${ended} s, the last login had read after ${all} s`)
  }

  clause(
    'GATE-294',
    'Logins of principals that have no login role yet delay neither GATE-14 nor GATE-15, however many there are of one…',
    async (t) => {
      await withdrawBehind(t, 1)
      await withdrawBehind(t, many)
    },
  )
})

clause(
  'GATE-295',
  'Two logins at a time change login roles of a database in one process, and the next ones wait: sessions that hold…',
  async () => {
    await using target = await createMaskedDatabase()
    const { sql } = target.database
    const readers = await target.createRole('readers', 'NOLOGIN')
    const directory = createTestLogins(target.database)
    const people = Array.from({ length: 6 }, (_, at) => directory.add(`p${at}@contoso.com`, [readers]))
    for (const id of people) assert.equal((await directory.prepare(id)).kind, 'ready')
    const countWaiting = async () =>
      (
        await sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      ).count
    let prepared: Promise<PromiseSettledResult<unknown>[]> | undefined
    await target.database.transaction(async (tx) => {
      await tx`select from pg_authid where oid in (select member from pg_auth_members where roleid = ${readers}::regrole) for update`
      // The roles have other passwords, as people may give them.
      prepared = Promise.allSettled(people.map((id) => directory.prepare(id, { reset: true })))
      await waitUntil('two wait for the roles', async () => (await countWaiting()) === 2)
      await holdsFor(600, 'no more wait', async () => (await countWaiting()) <= 2)
    })
    const outcomes = (await prepared) ?? []
    assert.deepEqual([...new Set(outcomes.map(({ status }) => status))], ['fulfilled'])
    directory.clear()
    await directory.settle()
  },
)
