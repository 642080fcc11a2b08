import assert from 'node:assert/strict'
import pg from 'pg'
import { clause } from '../../support/clause.ts'
import { freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'

const { send, service, putPolicy } = useMasking({
  MASQUERADE_BINDING_HOSTS: '127.0.0.1:1,[::1]:2,*.internal:5433,10.0.0.0/8:5434',
})

// A relay on another port of a host that is listed.
clause(
  'MASK-251',
  'A host in the setting for the hosts of bindings may have a port, as in `db.example.com:5432`, `10.0.0.0/8:5432` and…',
  async () => {
    const bind = (db: string, host: string, port?: number) =>
      send('PUT', db, { properties: { binding: { host, port, database: 'd', user: 'u', password: 'p' } } })
    const wrong: [string, number?][] = [
      ['127.0.0.1', 18999],
      ['127.0.0.1'],
      ['::1', 1],
      ['db.internal', 5432],
      ['127.0.0.1:1,127.0.0.1:18999'],
      ['10.1.2.3', 5433],
    ]
    for (const [host, port] of wrong) {
      const { status, body } = await bind(freshDatabase(), host, port)
      assert.equal(status, 400, `${host} ${port}`)
      assert.equal(body.error.target, 'properties.binding.host')
      assert.match(body.error.details?.[0]?.message ?? body.error.message, /is not among the hosts and ports/)
    }
    const right: [string, number?][] = [
      ['127.0.0.1', 1],
      ['::1', 2],
      ['db.internal', 5433],
      ['[::1]:2,127.0.0.1:1'],
    ]
    for (const [host, port] of right) {
      const put = await bind(freshDatabase(), host, port)
      assert.equal(put.status, 201, put.text)
    }

    const db = freshDatabase()
    await bind(db, '127.0.0.1', 1)
    const { database, gateway } = service()
    await database.sql`
      update masked_database set binding = binding || '{"port": 18999}', binding_version = binding_version + 1,
        binding_reached_at = now()
      where lower(name) = ${db.split('/').at(-1) ?? ''}`
    const client = new pg.Client({
      host: '127.0.0.1',
      port: gateway.port,
      user: 'u',
      password: 'p',
      database: `sub-1/group-1/srv/${db.split('/').at(-1)}`,
    })
    await assert.rejects(client.connect(), { code: '08001', message: /unknown or not allowed/ })
    await putPolicy(db, { dataMaskingState: 'Enabled' })
    const state = await send('GET', `${policyUrl(db)}/enforcement`)
    assert.match(state.body.reason, /not one that this service may be bound to/)
  },
)
