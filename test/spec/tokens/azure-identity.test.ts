import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { addApplication, claimsOf } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'

/** A process of its own, as an application would be: it trusts the CA by the environment. */
const program = `
  const { ClientSecretCredential } = await import('@azure/identity')
  const [tenant, client, secret, authorityHost, scope] = JSON.parse(process.argv[1])
  const options = { authorityHost, disableInstanceDiscovery: true }
  const token = await new ClientSecretCredential(tenant, client, secret, options).getToken(scope)
  process.stdout.write(JSON.stringify(token))`

describe('@azure/identity', () => {
  let service: TestService
  let caFile: string

  before(async () => {
    service = await startTestService()
    caFile = join(service.dataDir, 'ca-for-test.pem')
    await writeFile(caFile, service.listeners.ca ?? '')
  })
  after(() => service[Symbol.asyncDispose]())

  const run = async (...parameters: string[]) => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '-e', program, JSON.stringify(parameters)],
      { cwd: join(import.meta.dirname, '../../..'), env: { ...process.env, NODE_EXTRA_CA_CERTS: caFile } },
    )
    return JSON.parse(stdout) as { token: string; expiresOnTimestamp: number }
  }

  for (const resource of ['https://graph.microsoft.com', 'https://management.azure.com'])
    test(`ClientSecretCredential gets a working token for ${resource}`, async () => {
      const { appId, secret } = await addApplication(service, { permissions: ['Group.Read.All'] })
      const { token, expiresOnTimestamp } = await run(
        service.tenantId,
        appId,
        secret,
        service.auth.identity.origin(),
        `${resource}/.default`,
      )
      assert.deepEqual(claimsOf(token).roles, ['Group.Read.All'])
      assert.ok(expiresOnTimestamp > Date.now() + 50 * 60_000)
      const caller = await service.auth.gatekeeper.authenticate(`Bearer ${token}`)
      assert.equal(caller.applicationId, appId)
    })

  test('a wrong secret is an error of the client’s own kind', async () => {
    const { appId } = await addApplication(service)
    const scope = 'https://graph.microsoft.com/.default'
    const failed = run(service.tenantId, appId, 'not-the-secret', service.auth.identity.origin(), scope)
    await assert.rejects(failed, (error: Error & { stderr?: string }) => {
      assert.match(error.stderr ?? '', /invalid_client/)
      return true
    })
  })
})
