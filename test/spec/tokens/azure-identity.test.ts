import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { after, before, describe } from 'node:test'
import { firstPartyApplications } from '../../../src/auth/first-party.ts'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { addApplication, addPerson, claimsOf, type Person, trustService } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { signInDevice } from '../../support/sign-in.ts'

/** A process of its own, as an application would be: it trusts the CA by the environment. */
const program = `
  const { ClientSecretCredential } = await import('@azure/identity')
  const [tenant, client, secret, authorityHost, scope] = JSON.parse(process.argv[1])
  const asked = []
  const policy = { name: 'counting', sendRequest: (request, next) => (asked.push(request.url), next(request)) }
  const additionalPolicies = [{ policy, position: 'perCall' }]
  const options = { authorityHost, disableInstanceDiscovery: true, additionalPolicies }
  const credential = new ClientSecretCredential(tenant, client, secret, options)
  const token = await credential.getToken(scope)
  const first = asked.length
  const again = await credential.getToken(scope)
  process.stdout.write(JSON.stringify({ ...token, asked: [first, asked.length], again: again.token }))`

/** After a sign-in, rounds of four tokens at once: `claims` keeps the client from answering out of its cache. */
const parallelProgram = `
  const { DeviceCodeCredential } = await import('@azure/identity')
  const [tenantId, clientId, authorityHost] = JSON.parse(process.argv[1])
  const userPromptCallback = (prompt) => console.log(JSON.stringify(prompt))
  const options = { tenantId, clientId, authorityHost, disableInstanceDiscovery: true, userPromptCallback }
  const credential = new DeviceCodeCredential(options)
  await credential.getToken('https://graph.microsoft.com/User.Read')
  const scopes = ['https://graph.microsoft.com/User.Read', 'https://graph.microsoft.com/User.ReadBasic.All',
    'https://management.azure.com/user_impersonation', 'https://management.azure.com/.default']
  for (const round of [1, 2, 3]) {
    const ask = (scope) => credential.getToken(scope, { claims: '{"access_token":{}}' })
    console.log(JSON.stringify(await Promise.all(scopes.map(ask))))
  }`

const deviceProgram = `
  const { DeviceCodeCredential } = await import('@azure/identity')
  const [tenantId, clientId, authorityHost, scope] = JSON.parse(process.argv[1])
  const userPromptCallback = (prompt) => console.log(JSON.stringify(prompt))
  const options = { tenantId, clientId, authorityHost, disableInstanceDiscovery: true, userPromptCallback }
  const credential = new DeviceCodeCredential(options)
  console.log(JSON.stringify(await credential.getToken(scope)))
  console.log(JSON.stringify(await credential.getToken('https://management.azure.com/.default')))`

describe('@azure/identity', () => {
  let service: TestService
  let caFile: string

  before(async () => {
    service = await startTestService()
    caFile = join(service.dataDir, 'ca-for-test.pem')
    await writeFile(caFile, service.listeners.ca ?? '')
  })
  after(() => service[Symbol.asyncDispose]())

  const start = (source: string, parameters: string[]) =>
    spawn(process.execPath, ['--input-type=module', '-e', source, JSON.stringify(parameters)], {
      cwd: join(import.meta.dirname, '../../..'),
      env: { ...process.env, NODE_EXTRA_CA_CERTS: caFile },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const run = async (...parameters: string[]) => {
    const child = start(program, parameters)
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { stdout, stderr }
  }

  /** Enters the code that the program prints; gives a function that reads its next line. */
  const signInOnDevice = async (child: ReturnType<typeof start>, person: Person) => {
    const complaints = text(child.stderr)
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const read = async () => {
      const next = await lines.next()
      return next.done ? assert.fail(await complaints) : JSON.parse(next.value)
    }
    const prompt = await read()
    assert.match(prompt.message, new RegExp(prompt.userCode))
    const browser = new Browser()
    const page = await browser.submit(await browser.open(prompt.verificationUri), {
      user_code: prompt.userCode,
    })
    await signInDevice(browser, await browser.submit(page, { confirm: 'yes' }), person)
    return read
  }

  for (const resource of ['https://graph.microsoft.com', 'https://management.azure.com'])
    clause(
      'TOK-53',
      '`ClientSecretCredential` of `@azure/identity` gets a working token, for either API, with the authority set to the service and instance discovery off. A second `getToken` makes no request.',
      async () => {
        const { appId, secret } = await addApplication(service, { permissions: ['Group.Read.All'] })
        const origin = service.auth.identity.origin()
        const { stdout } = await run(service.tenantId, appId, secret, origin, `${resource}/.default`)
        const { token, expiresOnTimestamp, asked, again } = JSON.parse(stdout)
        assert.equal(again, token)
        assert.ok(asked[0] > 0, 'the first asks')
        assert.equal(asked[1], asked[0], 'the second does not')
        assert.deepEqual(claimsOf(token).roles, ['Group.Read.All'])
        assert.ok(expiresOnTimestamp > Date.now() + 50 * 60_000)
        const caller = await service.auth.gatekeeper.authenticate(`Bearer ${token}`)
        assert.equal(caller.applicationId, appId)
      },
    )

  clause(
    'TOK-54',
    '`DeviceCodeCredential` of `@azure/identity` signs a person in once for both APIs.',
    async () => {
      trustService(service)
      const person = await addPerson(service)
      const { appId } = firstPartyApplications.cli
      const scope = 'https://graph.microsoft.com/.default'
      const parameters = [service.tenantId, appId, service.auth.identity.origin(), scope]
      const read = await signInOnDevice(start(deviceProgram, parameters), person)
      const { token } = await read()
      assert.equal(claimsOf(token).oid, person.id)
      assert.match(String(claimsOf(token).scp), /User\.Read/)
      // For the other API it asks nobody: the refresh token is enough.
      assert.equal(claimsOf((await read()).token).oid, person.id)
    },
  )

  clause(
    'TOK-71',
    'Four parallel `getToken` of `@azure/identity` after one sign-in get tokens for either API, again and again.',
    async () => {
      trustService(service)
      const person = await addPerson(service)
      const { appId } = firstPartyApplications.cli
      const parameters = [service.tenantId, appId, service.auth.identity.origin()]
      const read = await signInOnDevice(start(parallelProgram, parameters), person)
      for (const _round of [1, 2, 3]) {
        const tokens: { token: string }[] = await read()
        const scopes = tokens.map(({ token }) => claimsOf(token).scp)
        const all = 'User.Read User.ReadBasic.All user_impersonation'
        assert.deepEqual(scopes, ['User.Read', 'User.ReadBasic.All', 'user_impersonation', all])
        for (const { token } of tokens) await service.auth.gatekeeper.authenticate(`Bearer ${token}`)
      }
    },
  )

  clause('TOK-55', 'A wrong secret is an error that `@azure/identity` understands.', async () => {
    const { appId } = await addApplication(service)
    const scope = 'https://graph.microsoft.com/.default'
    const origin = service.auth.identity.origin()
    const { stdout, stderr } = await run(service.tenantId, appId, 'not-the-secret', origin, scope)
    assert.match(stderr, /invalid_client/)
    assert.equal(stdout, '')
  })
})
