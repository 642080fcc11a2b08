import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { openDatabase } from '../../../src/db/database.ts'
import { clause } from '../../support/clause.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('when the service itself fails', () => {
  let service: TestService
  let token: string
  before(async () => {
    service = await startTestService()
    token = service.tokenFor({ permissions: ['Group.ReadWrite.All'] })
  })
  after(() => service[Symbol.asyncDispose]())

  clause(
    'DIR-101',
    'An unexpected failure is a bare 500 and an unavailable part of the service a 503, both in the directory error shape with a request id.',
    async () => {
      const group = { displayName: 'A', mailNickname: 'a', mailEnabled: false, securityEnabled: true }
      const create = () => service.request('POST', '/v1.0/groups', { token, body: group })
      await service.database.sql`alter table change_log rename to lost`
      const broken = await create()
      await service.database.sql`alter table lost rename to change_log`
      assert.equal(broken.status, 500)
      assert.equal(broken.body.error.code, 'InternalServerError')
      assert.equal(broken.body.error.innerError['request-id'], broken.headers.get('request-id'))
      assert.doesNotMatch(broken.text, /change_log|relation|SQLSTATE|at /)

      const database = new URL(service.databaseUrl).pathname.slice(1)
      const elsewhere = openDatabase({ url: service.databaseUrl.replace(/[^/]*$/, 'postgres'), poolSize: 1 })
      await elsewhere.sql`alter database ${elsewhere.sql(database)} allow_connections false`
      await elsewhere.sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${database}`
      const cut = await create()
      await elsewhere.sql`alter database ${elsewhere.sql(database)} allow_connections true`
      await elsewhere.close()
      assert.equal(cut.status, 503)
      assert.equal(cut.body.error.code, 'ServiceUnavailable')
      assert.ok(cut.headers.get('retry-after'))
      assert.equal(cut.body.error.innerError['request-id'], cut.headers.get('request-id'))

      assert.equal((await create()).status, 201, 'and it recovers')
    },
  )
})
