import assert from 'node:assert/strict'
import { before, describe } from 'node:test'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { addApplication } from '../../support/issuer.ts'
import { bringPeople, endedBy } from '../../support/people.ts'

/** Several times the documented time: machines that run tests are busy. */
const patienceMs = 8_000
const read = 'select email from public.customers where id = 1'
const promise =
  'A session ends by GATE-113 with the secret or certificate by which the client got the token of the…'

describe('sessions by the token of a removed secret', () => {
  const gateway = useGateway()
  let people: Awaited<ReturnType<typeof bringPeople>>
  before(async () => {
    people = await bringPeople(gateway)
  })
  const service = () => gateway.masking.service()
  const getToken = async (client_id: string, client_secret: string) => {
    const wish = { grant_type: 'client_credentials', client_id, client_secret, scope: '.default' }
    const { origin, tenantId } = service()
    const body = new URLSearchParams(wish)
    const answer = await fetch(`${origin}/${tenantId}/oauth2/v2.0/token`, { method: 'POST', body })
    return ((await answer.json()) as { access_token?: string }).access_token ?? assert.fail()
  }
  /** A secret that another application with `Application.ReadWrite.All` could add, and a token by it. */
  const addThief = async ({ applicationId, appId }: { applicationId: string; appId: string }) => {
    const call = (verb: string, permissions: string[], body: object) =>
      service().request('POST', `/v1.0/applications/${applicationId}/${verb}`, {
        token: service().tokenFor({ kind: 'application', permissions }),
        body,
      })
    const added = await call('addPassword', ['Application.ReadWrite.All'], {})
    assert.equal(added.status, 200, added.text)
    const { keyId, secretText } = added.body
    const remove = async () => {
      const removed = await call('removePassword', Object.keys(knownPermissions), { keyId })
      assert.equal(removed.status, 204, removed.text)
    }
    return { token: await getToken(appId, secretText), keyId: keyId as string, remove }
  }
  const exempt = async (appId: string) => {
    const exemptPrincipals = `${gateway.masked().role('auditor')};${appId}`
    const put = await gateway.masking.putPolicy(gateway.db, { dataMaskingState: 'Enabled', exemptPrincipals })
    assert.equal(put.status, 200, put.text)
  }

  clause('GATE-291', promise, async () => {
    const application = await addApplication(service())
    const { appId, servicePrincipalId, secret } = application
    const thief = await addThief(application)
    await people.map(servicePrincipalId)
    await exempt(appId)
    const kept = await people.connect(appId, await getToken(appId, secret))
    const session = await people.connect(appId, thief.token)
    assert.equal(await endedBy(session, patienceMs, thief.remove), '57P01')
    await assert.rejects(people.connect(appId, thief.token), { code: '28P01' })
    assert.equal((await kept.query(read)).rows.length, 1, 'sessions by other secrets go on')
  })

  // The secret is removed before the application gets any right.
  clause('GATE-291', promise, async () => {
    const application = await addApplication(service())
    const { appId, servicePrincipalId, secret } = application
    const thief = await addThief(application)
    await thief.remove()
    await people.map(servicePrincipalId)
    await exempt(appId)
    await assert.rejects(people.connect(appId, thief.token), { code: '28P01' })
    const own = await people.connect(appId, await getToken(appId, secret))
    assert.equal((await own.query(read)).rows.length, 1)
  })

  clause(
    'TOK-171',
    'A session at the gateway (GATE-291) and a subscription to notifications (DIR-363) end as well when the secret or…',
    async () => {
      const application = await addApplication(service())
      const { appId, servicePrincipalId, secret } = application
      const thief = await addThief(application)
      await people.map(servicePrincipalId)
      const kept = await people.connect(appId, await getToken(appId, secret))
      const session = await people.connect(appId, thief.token)
      const expire = () => service().database.sql`
        update application_secret set ends_at = clock_timestamp() where key_id = ${thief.keyId}`
      assert.equal(await endedBy(session, patienceMs, expire), '57P01')
      await exempt(appId)
      assert.equal((await kept.query('select 1 as one')).rows.length, 1, 'sessions by other secrets go on')
    },
  )
})
