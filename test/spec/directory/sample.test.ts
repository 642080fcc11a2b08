import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createSqlGraph } from '../../../src/directory/membership/sql-graph.ts'
import { createSample } from '../../../src/directory/sample/create-sample.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'

describe('the sample directory', () => {
  let sample: TestDatabase
  let tenantId: string
  before(async () => {
    sample = await createTestDatabase()
    const [row] = await sample.database.sql<{ tenant_id: string }[]>`select tenant_id from instance`
    tenantId = row?.tenant_id ?? ''
  })
  after(() => sample?.[Symbol.asyncDispose]())

  test('is made once, with every kind of object, nesting, a circle, roles and extensions', async () => {
    const { database } = sample
    assert.equal(await createSample(database, tenantId, 'example.com'), true)
    assert.equal(await createSample(database, tenantId, 'example.com'), false)
    const counts = await database.sql<{ kind: string; count: number }[]>`
      select kind, count(*) as count from directory_object group by kind`
    const kinds = Object.fromEntries(counts.map(({ kind, count }) => [kind, count]))
    for (const kind of [
      'user',
      'group',
      'application',
      'servicePrincipal',
      'device',
      'orgContact',
      'directoryRole',
    ])
      assert.ok((kinds[kind] ?? 0) >= 3, kind)
    const graph = createSqlGraph(database.sql)
    const find = async (name: string) => {
      const [row] = await database.sql<{ id: string }[]>`
        select id from directory_object where display_name = ${name}`
      return row?.id ?? assert.fail(`${name} is missing`)
    }
    const { chain } = await graph.explain(tenantId, await find('Sanna Virtanen'), await find('All staff'))
    assert.equal(chain?.length, 4)
    const clubs = [await find('Book club'), await find('Friends of the lighthouse')]
    const groups = await graph.groupsOf(tenantId, clubs[0] ?? '')
    assert.deepEqual(groups, [clubs[1]])
    const roles = await graph.groupsOf(tenantId, await find('Mateo Rojas'), { includeRoles: true })
    for (const name of ['Privileged Role Administrator', 'Groups Administrator', 'Application Administrator'])
      assert.ok(roles.includes(await find(name)), name)
    const ownerless = await database.sql<{ name: string }[]>`
      select display_name as name from directory_object o where kind in ('group', 'application')
        and display_name in ('Analysts', 'Exempt from masking', 'Directory administrators', 'Night Ledger')
        and not exists (select from owner_edge e where e.object_id = o.id)`
    assert.deepEqual([...ownerless], [], 'groups and applications that matter have owners')
    const [extensions] = await database.sql<{ count: number }[]>`select count(*) as count from open_extension`
    assert.ok((extensions?.count ?? 0) >= 3)
    const [named] = await database.sql`
      select from directory_object where user_principal_name = 'maren@example.com'`
    assert.ok(named)
  })

  test('does not come back once somebody has used the directory', async () => {
    const { database } = sample
    await database.sql`delete from directory_object where kind not in ('organization', 'user')`
    assert.equal(await createSample(database, tenantId, 'example.com'), false)
  })
})
