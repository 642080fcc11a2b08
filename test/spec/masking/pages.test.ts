import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiVersion, useMasking } from '../../support/masking.ts'

const { service, send } = useMasking()

const server = '/subscriptions/S/resourceGroups/G/providers/Vendor.Sql/servers'

test('more servers and databases than a page holds come in pages', async () => {
  const { database, tenantId } = service()
  await database.sql`
    insert into server (tenant_id, key, subscription_id, resource_group, name, location)
    select ${tenantId}, lower(${server} || '/V' || n), 'S', 'G', 'V' || n, 'here' from generate_series(1, 1001) as n`
  await database.sql`
    insert into masked_database (id, tenant_id, key, subscription_id, resource_group, server_name, name, location)
    select gen_random_uuid(), ${tenantId}, lower(${server} || '/V1/databases/D' || n), 'S', 'G', 'V1', 'D' || n, 'here'
    from generate_series(1, 1001) as n`
  for (const path of [server, '/subscriptions/S/providers/Vendor.Sql/servers', `${server}/V1/databases`]) {
    const first = (await send('GET', path)).body
    assert.equal(first.value.length, 1000)
    const second = (await send('GET', first.nextLink)).body
    assert.deepEqual(Object.keys(second), ['value'])
    const ids = [...first.value, ...second.value].map((one: { id: string }) => one.id)
    assert.equal(new Set(ids).size, 1001)
  }
})

test('a position that somebody made up never leads out of the scope', async () => {
  await send('PUT', '/subscriptions/A/resourceGroups/G/providers/Vendor.Sql/servers/secret', {})
  const token = (position: string) => Buffer.from(JSON.stringify([position])).toString('base64url')
  for (const position of ['', '/', '/subscriptions/a', '\uffff', '🙂']) {
    const { status, body } = await send('GET', `${server}?${apiVersion}&$skipToken=${token(position)}`)
    assert.equal(status, 200)
    for (const { id } of body.value) assert.ok(id.startsWith(server))
  }
  for (const wrong of ['x', token('a').slice(1), Buffer.from('[1]').toString('base64url'), token('a\0b')])
    assert.equal((await send('GET', `${server}?${apiVersion}&$skipToken=${wrong}`)).status, 400, wrong)
})
