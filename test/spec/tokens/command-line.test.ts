import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { createCa, toPem } from '../../../src/http/local-ca.ts'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { startCommand } from '../../support/command.ts'
import { addPerson, claimsOf, trustService } from '../../support/issuer.ts'
import { runHere } from '../../support/run-here.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { signInDevice } from '../../support/sign-in.ts'

describe('the commands about people and applications', () => {
  let service: TestService
  let environment: Record<string, string>

  before(async () => {
    service = await startTestService()
    trustService(service)
    environment = {
      MASQUERADE_DATA_DIR: service.dataDir,
      MASQUERADE_DATABASE_URL: service.databaseUrl,
      XDG_CONFIG_HOME: join(service.dataDir, 'config'),
    }
  })
  after(() => service[Symbol.asyncDispose]())

  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runHere(args, { environment })
    assert.equal(code, 0, stderr)
    return stdout.trim()
  }

  clause(
    'TOK-56',
    '`masquerade application` registers applications, adds secrets and grants permissions; every change is audited, without the secret.',
    async () => {
      const appId = await run('application', 'create', 'Nightly sync')
      assert.match(await run('application', 'list'), new RegExp(`^${appId} {2}Nightly sync$`, 'm'))
      const secret = await run('application', 'secret', 'Nightly sync', '--name', 'first', '--days', '30')
      const granted = await run('application', 'grant', appId, '--permission', 'User.Read.All')
      assert.equal(granted, 'User.Read.All')
      const response = await fetch(`${service.origin}/common/oauth2/v2.0/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: appId,
          client_secret: secret,
        }),
      })
      const { access_token: token } = (await response.json()) as { access_token: string }
      assert.deepEqual(claimsOf(token).roles, ['User.Read.All'])
      const audit = await service.database.sql<{ action: string; entry: string }[]>`
      select action, (e.*)::text as entry from audit_event e where actor ->> 'kind' = 'operator' order by id`
      assert.deepEqual(
        audit.map(({ action }) => action),
        ['create application', 'add secret', 'grant permissions'],
      )
      assert.equal(JSON.stringify(audit).includes(secret), false)
    },
  )

  clause(
    'DIR-353',
    'Blanks and invisible characters at the ends of a name that a command finds a group or application by do not count. …',
    async () => {
      const name = `Sync ${randomUUID()}`
      const dressed = [` ${name}`, `${name}\u200b`]
      const grant = (word: string) =>
        runHere(['application', 'grant', word, '--permission', 'User.Read.All'], { environment })
      for (const one of dressed) {
        await run('application', 'create', one)
        assert.notEqual((await grant(one)).code, 0)
      }
      const appId = await run('application', 'create', name)
      for (const one of dressed) assert.equal((await grant(one)).code, 0)
      const listed = await run('application', 'list')
      assert.deepEqual(
        listed.split('\n').filter((line) => line.includes(name) && line.includes('User.Read.All')),
        [`${appId}  ${name}  (User.Read.All)`],
      )
    },
  )

  clause(
    'DIR-350',
    'Commands take a UUID for an id alone, of applications, users, groups and exempt principals: an object that has…',
    async () => {
      const gone = randomUUID()
      const appId = await run('application', 'create', gone)
      const permissions = ['--permission', 'User.Read.All']
      for (const args of [['secret'], ['grant', ...permissions], ['consent', ...permissions]]) {
        const [verb = '', ...further] = args
        for (const word of [gone, gone.toUpperCase()]) {
          const { code, stderr } = await runHere(['application', verb, word, ...further], { environment })
          assert.notEqual(code, 0)
          assert.match(stderr, new RegExp(word))
        }
        await run('application', verb, appId, ...further)
      }
    },
  )

  const administer = async (method: string, path: string, body: unknown) => {
    const permissions = ['Application.ReadWrite.All']
    const token = service.tokenFor({ kind: 'application', permissions })
    const answer = await service.request(method, `/v1.0${path}`, { token, body })
    assert.ok(answer.status < 300, answer.text)
    return answer.body
  }
  const permission = ['--permission', 'User.Read.All']

  clause(
    'DIR-376',
    'A name that a command finds an application by counts every application that is not deleted, by its displayName and…',
    async () => {
      const named = { displayName: `Sync ${randomUUID()}` }
      const other = { displayName: `Other ${randomUUID()}` }
      const real = await administer('POST', '/applications', named)
      const taker = await administer('POST', '/applications', {
        displayName: named.displayName.toUpperCase(),
      })
      const { id: principalId } = await administer('POST', '/servicePrincipals', { appId: taker.appId })
      const refuse = async (name: string, ...appIds: string[]) => {
        for (const args of [['secret'], ['secret', '--remove', randomUUID()], ['grant'], ['consent']]) {
          const [verb = '', ...further] = args
          const more = verb === 'secret' ? further : permission
          const { code, stderr, stdout } = await runHere(['application', verb, name, ...more], {
            environment,
          })
          assert.deepEqual([code, stdout], [1, ''], `${verb} ${stderr}`)
          assert.match(stderr, /Several applications are called/)
          for (const appId of appIds) assert.ok(stderr.includes(appId), stderr)
          assert.equal(stderr.trim().split('\n').length, 1)
        }
      }
      await refuse(named.displayName, real.appId, taker.appId)
      const rows = await service.database.sql`
        select from application_secret where application_id in (${real.id}, ${taker.id})`
      assert.equal(rows.count, 0)

      // The administrator knows the service principal by its name, and a person gives that name to an application.
      await administer('PATCH', `/applications/${taker.id}`, other)
      const known = await administer('POST', '/servicePrincipals', { appId: real.appId, ...other })
      await refuse(other.displayName, real.appId, taker.appId)
      await administer('PATCH', `/servicePrincipals/${known.id}`, { displayName: `Third ${randomUUID()}` })
      await administer('PATCH', `/servicePrincipals/${principalId}`, other)
      assert.equal(await run('application', 'grant', other.displayName, ...permission), 'User.Read.All')
    },
  )

  clause(
    'DIR-377',
    'Commands that find an application by a word say its appId: on standard error beside the result, and in the result as JSON.',
    async () => {
      const name = `Sync ${randomUUID()}`
      const appId = await run('application', 'create', name)
      for (const args of [['secret'], ['grant', ...permission], ['consent', ...permission]]) {
        const [verb = '', ...further] = args
        const command = ['application', verb, name, ...further]
        const { code, stderr, stdout } = await runHere(command, { environment })
        assert.deepEqual([code, stderr], [0, `${name}: application ${appId}\n`])
        assert.equal(stdout.includes(appId), false, 'a program reads the result alone')
        const asJson = await runHere([...command, '--json'], { environment })
        assert.deepEqual([JSON.parse(asJson.stdout).appId, asJson.stderr], [appId, ''])
      }
    },
  )

  clause(
    'DIR-378',
    '`masquerade application list` lists an application without a service principal too. A permission or consent for one is…',
    async () => {
      const displayName = `Lone ${randomUUID()}`
      const { appId, id } = await administer('POST', '/applications', { displayName })
      assert.ok(
        (await run('application', 'list'))
          .split('\n')
          .includes(`${appId}  ${displayName}  (no service principal)`),
      )
      for (const word of [displayName, appId, id])
        for (const verb of ['grant', 'consent']) {
          const { code, stderr } = await runHere(['application', verb, word, ...permission], { environment })
          assert.equal(code, 5, stderr)
          assert.match(stderr, /has no service principal/)
        }
      assert.match(await run('application', 'secret', displayName), /^mq_/)
    },
  )

  const signInByDevice = async (more: string[] = [], meanwhile?: () => Promise<void>) => {
    const person = await addPerson(service)
    const started = startCommand(['login', '--url', service.httpsOrigin, ...more], environment)
    const shown = await started.waitFor(/enter the code [A-Z]{4}-[A-Z]{4}/)
    await meanwhile?.()
    const [, address = ''] = /Open (\S+)/.exec(shown) ?? []
    const [, code = ''] = /enter the code (\S+)/.exec(shown) ?? []
    const browser = new Browser()
    const confirmation = await browser.submit(await browser.open(address), { user_code: code })
    await signInDevice(browser, await browser.submit(confirmation, { confirm: 'yes' }), person)
    const outcome = await started.ended
    assert.equal(outcome.code, 0, outcome.stderr)
    assert.match(outcome.stdout, new RegExp(`Signed in as ${person.userPrincipalName}\\.`))
    return person
  }

  clause('TOK-57', 'What a command cannot do is one line on standard error.', async () => {
    const attempts: [string[], RegExp][] = [
      [['application', 'secret', 'nobody'], /nobody/],
      [['application', 'grant', 'Nightly sync', '--permission', 'Everything'], /no permission 'Everything'/],
      [['application', 'create', 'X', '--redirect-uri', 'not a uri'], /not an absolute URI/],
      [['login', '--url', 'https://localhost:1'], /no service at/],
      [['login', '--token'], /Not signed in/],
    ]
    for (const [args, expected] of attempts) {
      const { code, stderr, stdout } = await runHere(args, { environment })
      assert.notEqual(code, 0, args.join(' '))
      assert.match(stderr, expected)
      assert.equal(stderr.trim().split('\n').length, 1, stderr)
      assert.equal(stdout, '')
    }
  })

  clause(
    'TOK-58',
    '`masquerade login` signs a person in by device code and keeps the tokens in a file for them alone; `masquerade logout` ends the sign-in at the service too.',
    async () => {
      const person = await signInByDevice()
      const folder = join(service.dataDir, 'config', 'masquerade')
      assert.deepEqual(await readdir(folder), ['session.json'])
      assert.equal((await stat(folder)).mode & 0o777, 0o700)
      assert.equal((await stat(join(folder, 'session.json'))).mode & 0o777, 0o600)
      const token = await run('login', '--token')
      const caller = await service.auth.gatekeeper.authenticate(`Bearer ${token}`)
      assert.equal(caller.objectId, person.id)

      const session = JSON.parse(await readFile(join(folder, 'session.json'), 'utf8'))
      assert.match(await run('logout'), /Signed out/)
      assert.deepEqual(await readdir(folder), [])
      const refused = await fetch(`${service.origin}/common/oauth2/v2.0/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'refresh_token',
          client_id: String(claimsOf(token).appid),
          refresh_token: session.refreshToken,
        }),
      })
      assert.equal(refused.status, 400)
    },
  )

  clause(
    'SVC-120',
    '`masquerade login --ca` keeps the certificate itself, not the name of its file: later commands trust what the file held at the sign-in…',
    async () => {
      const ca = join(service.dataDir, 'named-ca.pem')
      await writeFile(ca, service.listeners.ca ?? '')
      await signInByDevice(['--ca', ca])
      const { ca: foreign } = await createCa(['localhost'], new Date())
      await writeFile(ca, toPem(foreign.certificate))

      const folder = join(service.dataDir, 'config', 'masquerade')
      const { caFile } = JSON.parse(await readFile(join(folder, 'session.json'), 'utf8'))
      assert.equal(await readFile(caFile, 'utf8'), service.listeners.ca)
      assert.equal((await stat(caFile)).mode & 0o777, 0o600)
      // Told by that CA: a process of its own has trusted no other.
      const { code, stderr } = await startCommand(['logout'], environment).ended
      assert.deepEqual([code, stderr], [0, ''])
      assert.deepEqual(await readdir(folder), [])
    },
  )

  clause(
    'SVC-121',
    '`masquerade login --ca` reads the file once, before the person signs in: the certificate that it keeps is the one…',
    async () => {
      const ca = join(service.dataDir, 'replaced-ca.pem')
      await writeFile(ca, service.listeners.ca ?? '')
      const { ca: foreign } = await createCa(['localhost'], new Date())
      await signInByDevice(['--ca', ca], () => writeFile(ca, toPem(foreign.certificate)))
      const folder = join(service.dataDir, 'config', 'masquerade')
      assert.equal(await readFile(join(folder, 'ca.pem'), 'utf8'), service.listeners.ca)
      const { code, stderr } = await startCommand(['logout'], environment).ended
      assert.deepEqual([code, stderr], [0, ''])
    },
  )
})
