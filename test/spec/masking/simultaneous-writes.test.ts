import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Tx } from '../../../src/db/database.ts'
import { lockAssignments } from '../../../src/masking/role-assignments/confirm-role.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { freshDatabase, useMasking } from '../../support/masking.ts'
import type { TestResponse } from '../../support/service.ts'
import { waitUntil } from '../../support/wait-until.ts'

const connections = 4
const { service, send } = useMasking({ MASQUERADE_DATABASE_POOL_SIZE: `${connections}` })

type Write = () => Promise<TestResponse>

const roleUrl = (scope: string, id: string = randomUUID()) =>
  `${scope}/providers/Vendor.Authorization/roleAssignments/${id}`
const remove = (url: string) => () => send('DELETE', url)

/** Sends all writes at once and a read between them, which is not the last to be answered. */
async function sendAll(writes: readonly Write[], status: number): Promise<void> {
  await service().tokens.settled()
  const order: string[] = []
  const noted = async (kind: string, request: Write) => {
    const answer = await request()
    order.push(kind)
    return answer
  }
  const half = writes.length / 2
  const first = writes.slice(0, half).map((write) => noted('write', write))
  const read = noted('read', () => send('GET', '/subscriptions'))
  const answers = await Promise.all([...first, ...writes.slice(half).map((write) => noted('write', write))])
  for (const answer of answers) assert.equal(answer.status, status, answer.text)
  assert.equal((await read).status, 200)
  assert.equal(order.at(-1), 'write', 'the read is answered between the writes')
}

clause(
  'MASK-254',
  "Writes of masking, however many at once, never wait for each other's connections to the store: each needs one…",
  async () => {
    const people: string[] = []
    for (let at = 0; at < 10 * connections; at++) people.push(await fillDirectory(service()).user())
    const put = (urls: readonly string[], properties: object) =>
      urls.map(
        (url, at) => () => send('PUT', url, { properties: { principalId: people[at], ...properties } }),
      )
    for (const scope of ['', freshDatabase()]) {
      const urls = people.map(() => roleUrl(scope))
      await sendAll(put(urls, { roleName: 'Reader' }), 201)
      await sendAll(urls.map(remove), 200)
    }
    const mappings = people.map(() => `${freshDatabase()}/roleMappings/m`)
    await sendAll(put(mappings, { databaseRole: 'payroll' }), 201)
    await sendAll(mappings.map(remove), 200)

    const databases = people.map(() => freshDatabase())
    const roles = put(
      databases.map((db) => roleUrl(db)),
      { roleName: 'Reader' },
    )
    await sendAll(roles, 201)
    await sendAll(databases.map(remove), 204)
    const { count } = await service().database.sql`
      select from role_assignment where scope = any(${databases.map((db) => db.toLowerCase())}::text[])`
    assert.equal(count, 0)
  },
)

/** Sends DELETEs of a role, and changes what there is when all of them wait. */
async function removeTwice(url: string, meanwhile: (tx: Tx) => Promise<unknown>): Promise<number[]> {
  const { database, tokens } = service()
  await tokens.settled()
  const begun = await database.transaction(async (tx) => {
    await lockAssignments(tx)
    const answers = [send('DELETE', url), send('DELETE', url)]
    await waitUntil('both wait', async () => {
      const waiting = await database.sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return waiting.count >= answers.length
    })
    await meanwhile(tx)
    return { answers }
  })
  return (await Promise.all(begun.answers)).map(({ status }) => status).sort()
}

clause(
  'MASK-255',
  'Of several DELETEs of one role assignment at the same time one is 200 and has the audit entry, the others are 204…',
  async () => {
    const { database } = service()
    for (const scope of ['', '/subscriptions/sub-1'])
      for (const roleName of ['Owner', 'Reader']) {
        const id = randomUUID()
        const principalId = await fillDirectory(service()).user()
        const url = roleUrl(scope, id)
        const put = await send('PUT', url, { properties: { principalId, roleName } })
        assert.equal(put.status, 201, put.text)
        const statuses = await removeTwice(url, async (tx) => {
          if (roleName === 'Reader')
            await tx`update role_assignment set role = 'Contributor' where id = ${id}`
        })
        assert.deepEqual(statuses, [200, 204], `${roleName} at ${scope}/`)
        const entries = await database.sql<{ role: string }[]>`
          select before -> 'properties' ->> 'roleName' as role from audit_event
          where target ilike ${`%${id}`} and action like '%roleAssignments/delete'`
        assert.deepEqual(
          entries.map(({ role }) => role),
          [roleName === 'Reader' ? 'Contributor' : roleName],
        )
      }
  },
)
