import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { policyUrl, useMasking } from '../../support/masking.ts'
import { overlap } from '../../support/overlapping-writes.ts'

const { service, send } = useMasking()

const newServer = () =>
  `/subscriptions/sub-1/resourceGroups/Group-1/providers/Vendor.Sql/servers/s${randomUUID().slice(0, 8)}`
const rolesOf = (scope: string) => `${scope}/providers/Vendor.Authorization/roleAssignments`
/** Gives a role at a place that may have no resource yet, and tells later whether it is there. */
const assignAt = async (scope: string) => {
  const id = randomUUID()
  const properties = { principalId: await fillDirectory(service()).user(), roleName: 'Reader' }
  const given = await send('PUT', `${rolesOf(scope)}/${id}`, { properties })
  assert.equal(given.status, 201, given.text)
  return async () => (await send('GET', `${rolesOf(scope)}/${id}`)).status === 200
}
const create = (db: string) => () =>
  send('PUT', policyUrl(db), { properties: { dataMaskingState: 'Disabled' } })
const remove = (path: string) => () => send('DELETE', path)

clause(
  'MASK-256',
  'A DELETE of a server or database that waits while a database is created there ends no role assignment of what was created:…',
  async (t) => {
    await t.test('a server that is not declared', async () => {
      const server = newServer()
      const isThere = await assignAt(server)
      const [put, deleted] = await overlap(service(), create(`${server}/databases/db`), remove(server))
      assert.deepEqual([put.status, deleted.status], [200, 204], put.text + deleted.text)
      assert.ok(await isThere())
    })
    await t.test('a declared server', async () => {
      const server = newServer()
      assert.equal((await send('PUT', server, { location: 'local' })).status, 201)
      const isThere = await assignAt(server)
      const [put, deleted] = await overlap(service(), create(`${server}/databases/db`), remove(server))
      assert.deepEqual([put.status, deleted.status], [200, 409], put.text + deleted.text)
      assert.ok(await isThere())
      assert.equal((await send('GET', server)).status, 200)
    })
    await t.test('a database', async () => {
      const db = `${newServer()}/databases/db`
      const isThere = await assignAt(db)
      const [put, deleted] = await overlap(service(), create(db), remove(db))
      assert.deepEqual([put.status, deleted.status], [200, 409], put.text + deleted.text)
      assert.ok(await isThere())
      assert.equal((await send('DELETE', db)).status, 200)
      assert.equal(await isThere(), false)
    })
  },
)

clause(
  'MASK-257',
  'Of several PUTs that declare one server at the same time one is 201. The others are 200 with the server before in their…',
  async () => {
    const server = newServer()
    const declare = (headers = {}) => send('PUT', server, { location: 'local' }, headers)
    const both = await overlap(service(), declare, declare)
    assert.deepEqual(
      both.map(({ status }) => status),
      [201, 200],
    )
    const entries = await service().database.sql<{ isFirst: boolean }[]>`
      select before is null as "isFirst" from audit_event where target ilike ${server} order by id`
    assert.deepEqual(
      entries.map(({ isFirst }) => isFirst),
      [true, false],
    )
    const other = newServer()
    const put = (headers = {}) => send('PUT', other, { location: 'local' }, headers)
    const answers = await overlap(service(), put, () => put({ 'if-none-match': '*' }))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 412],
    )
  },
)
