import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('members whose writing is interrupted', () => {
  let service: TestService
  let directory: TestDirectory
  let token: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    token = await service.tokenFor({
      permissions: ['GroupMember.ReadWrite.All', 'User.ReadWrite.All', 'Group.ReadWrite.All'],
    })
    // A first change, so that there is a revision to hold on to.
    await bind(await directory.group(), [await directory.user()])
  })
  after(() => service?.[Symbol.asyncDispose]())

  const makeUsers = (count: number) => Promise.all(Array.from({ length: count }, () => directory.user()))

  async function bind(groupId: string, ids: readonly string[], more: object = {}): Promise<number> {
    const urls = ids.map((id) => `${service.origin}/v1.0/directoryObjects/${id}`)
    const body = { ...more, 'members@odata.bind': urls }
    return (await service.request('PATCH', `/v1.0/groups/${groupId}`, { token, body })).status
  }

  /** Ends the session that waits for a lock, which is the one in the middle of its write. */
  async function endWaitingSession(): Promise<void> {
    await waitUntil('a session that waits for a lock', async () => {
      const ended = await service.database.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and pid <> pg_backend_pid()`
      return ended.length > 0
    })
  }

  test('a session that ends after the members are in and before the commit leaves nothing', async () => {
    const group = await directory.group({ description: 'old' })
    const users = await makeUsers(20)
    let status: Promise<number> | undefined
    await service.database.transaction(async (tx) => {
      // The revision is the last thing a write takes: everything else of it is done when it waits here.
      await tx`select from revision_counter for update`
      status = bind(group, users, { description: 'new' })
      await endWaitingSession()
      assert.equal(await status, 503)
    })
    assert.deepEqual(await directory.directMembers(group), [])
    const { sql } = service.database
    const [row] = await sql`select properties ->> 'description' as description, version
      from directory_object where id = ${group}`
    assert.deepEqual(row, { description: 'old', version: 1 })
    const traces = await sql`
      select from audit_event where target = ${`/groups/${group}`}
      union all select from change_log where entity_id = ${group}`
    assert.equal(traces.length, 0)
    assert.equal(await bind(group, users, { description: 'new' }), 204)
    assert.deepEqual(await directory.directMembers(group), users.toSorted())
  })

  test('while sessions end at random, what was acknowledged is there, and no request is there in part', async () => {
    const groups = await Promise.all(Array.from({ length: 4 }, () => directory.group()))
    const batches = await Promise.all(Array.from({ length: 24 }, () => makeUsers(3)))
    let isDone = false
    const interrupt = () =>
      waitUntil('the end of the requests', async () => {
        // Those in a transaction of the service, with whatever they have written so far.
        await service.database.sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()
            and (state = 'idle in transaction' or (state = 'active' and backend_xid is not null))
          limit 1`.catch(() => {})
        return isDone
      })
    const interruption = interrupt()
    const outcomes = await Promise.all(
      batches.map(async (ids, at) => ({
        ids,
        group: groups[at % 4] ?? '',
        status: await bind(groups[at % 4] ?? '', ids),
      })),
    )
    isDone = true
    await interruption
    const members = new Map<string, Set<string>>()
    for (const group of groups) members.set(group, new Set(await directory.directMembers(group)))
    for (const { ids, group, status } of outcomes) {
      const present = ids.filter((id) => members.get(group)?.has(id)).length
      assert.ok(status === 204 || status === 503, `${status}`)
      assert.ok(present === 0 || present === 3, `${present} of 3 members are there after ${status}`)
      if (status === 204) assert.equal(present, 3)
    }
    const group = await directory.group()
    assert.equal(await bind(group, batches[0] ?? []), 204, 'the service is healthy afterwards')
  })
})
