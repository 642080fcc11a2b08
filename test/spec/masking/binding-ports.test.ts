import assert from 'node:assert/strict'
import { clause } from '../../support/clause.ts'
import { freshDatabase, useMasking } from '../../support/masking.ts'
import { refuseStored } from '../../support/stored-binding.ts'

const masking = useMasking({
  MASQUERADE_BINDING_HOSTS: '127.0.0.1:1,[::1]:2,*.internal:5433,10.0.0.0/8:5434',
})
const { send } = masking

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
    await refuseStored(masking, db, { port: 18999 })
  },
)
