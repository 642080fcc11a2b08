import assert from 'node:assert/strict'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { freshDatabase, useMasking } from '../../support/masking.ts'

const { service, send, putPolicy, bindReached } = useMasking()

clause(
  'MASK-204',
  '`POST {db}/query` runs one statement through the gateway under the login role of the caller, with the caller…',
  async (t) => {
    t.diagnostic(
      'while the database is down, a caller without a mapped role does not learn that there is one',
    )
    const [db, none] = [freshDatabase(), freshDatabase()]
    assert.equal((await putPolicy(db, { dataMaskingState: 'Enabled' })).status, 200)
    const directory = fillDirectory(service())
    const [stranger, mapped, group] = [
      await directory.user(),
      await directory.user(),
      await directory.group(),
    ]
    await directory.join(mapped, group)
    const properties = { principalId: group, databaseRole: 'readers' }
    assert.equal((await send('PUT', `${db}/roleMappings/x`, { properties })).status, 201)
    await bindReached(db)
    const ask = (principal: string, path: string) =>
      service().request('POST', `${path}/query?api-version=2026-11-01`, {
        token: service().tokenFor({ principal, permissions: ['user_impersonation'] }),
        body: { sql: 'select 1' },
      })
    const wordsOf = async (path: string) => {
      const { status, body } = await ask(stranger, path)
      assert.equal(status, 403)
      return body.error.message.replace(path, '')
    }
    assert.equal(await wordsOf(db), await wordsOf(none))
    const told = await ask(mapped, db)
    assert.equal(told.status, 200, 'people of a mapped group learn what is wrong')
    assert.equal(told.body.error.code, '57P03')
  },
)
