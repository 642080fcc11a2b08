import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
import { firstPartyApplications } from '../../../src/auth/first-party.ts'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { isPassword } from '../../../src/directory/accounts/password.ts'
import { writeCredentials } from '../../../src/directory/first-start/bootstrap.ts'
import { findAdministrator, readFirstStart } from '../../../src/directory/first-start/read-first-start.ts'
import { restoreAdministration } from '../../../src/directory/first-start/restore-administration.ts'
import { issueOperatorToken } from '../../../src/issuer/operator-token.ts'
import { verifySignIn } from '../../../src/issuer/verify-sign-in.ts'
import { assignAtRoot } from '../../../src/masking/role-assignments/assigned-roles.ts'
import { clause } from '../../support/clause.ts'
import { makeCertificate } from '../../support/client-certificate.ts'
import { runCommand, startCommand } from '../../support/command.ts'
import { runHere } from '../../support/run-here.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { retryUntil } from '../../support/wait-until.ts'

const restoring =
  '`masquerade admin restore` brings back a working administrator, Global Administrator and Owner at `/`, the application "Masquerade administration", the product\'s own clients and a signing key, whatever of these was deleted, disabled or purged. It leaves what is right as it is.'
const commanding =
  '`masquerade admin restore` is audited, writes new credentials to private files of the data directory, and works while the embedded database is stopped. With `--replace-keys` it works after the secret key was lost.'
const policy =
  '/subscriptions/s/resourceGroups/g/providers/Vendor.Sql/servers/v/databases/d/dataMaskingPolicies/Default?api-version=2014-04-01'

describe('masquerade admin restore', () => {
  let service: TestService
  let environment: Record<string, string>

  before(async () => {
    service = await startTestService({ MASQUERADE_TOKEN_CHECK_SECONDS: '1' })
    environment = {
      MASQUERADE_DATA_DIR: service.dataDir,
      MASQUERADE_DATABASE_URL: service.databaseUrl,
      MASQUERADE_PUBLIC_URL: service.auth.identity.origin(),
    }
  })
  after(() => service[Symbol.asyncDispose]())

  const run = async (...args: string[]) => {
    const outcome = await runHere(args, { environment })
    assert.equal(outcome.code, 0, outcome.stderr)
    return outcome.stdout
  }
  const readSecret = (name: string) => readFile(join(service.dataDir, name), 'utf8')

  /** Both APIs accept the token, as soon as what the nodes remember is a second old. */
  const assertWorks = async (token: string) => {
    for (const path of ['/v1.0/organization', policy])
      await retryUntil(async () => {
        const { status, text } = await service.request('GET', path, { token })
        assert.equal(status, 200, `${path} is ${status}: ${text}`)
      })
  }

  /** The administrator by the command line, the application by its own secret, and the password in the file. */
  const assertRestored = async () => {
    const { sql } = service.database
    const origin = service.auth.identity.origin()
    const token = await issueOperatorToken(
      { ...service.auth, origin, tenantId: service.tenantId, sql },
      { for: { kind: 'administrator' }, permissions: [], lifetimeSeconds: 600, audience: undefined },
    )
    await assertWorks(token)
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    assert.ok(claims.wids.includes(directoryRoleTemplates['Global Administrator']))
    const [row] = await sql<{ hash: string }[]>`select hash from user_password where user_id = ${claims.oid}`
    assert.ok(await isPassword(row?.hash, (await readSecret('administrator-password')).trim()))

    const { clientId, clientSecret } = JSON.parse(await readSecret('administrator-application.json'))
    const response = await fetch(`${service.origin}/common/oauth2/v2.0/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
        scope: 'https://graph.microsoft.com/.default',
      }),
    })
    const { access_token: application } = (await response.json()) as { access_token: string }
    await assertWorks(application)
    const roles = JSON.parse(Buffer.from(application.split('.')[1] ?? '', 'base64url').toString()).roles
    assert.deepEqual(roles.toSorted(), Object.keys(knownPermissions).toSorted())
    const { cli, portal } = firstPartyApplications
    const { count } = await sql`
      select from directory_object where app_id = any(${[cli.appId, portal.appId, clientId]})
        and deleted_at is null and properties -> 'accountEnabled' is distinct from 'false'`
    assert.equal(count, 6)
  }

  const administratorId = async () =>
    (await readFirstStart(service.database.sql, service.tenantId))?.administratorId ?? ''

  const damages: Record<string, () => Promise<unknown>> = {
    'clients deleted': () => service.database.sql`
      update directory_object set deleted_at = now() where kind in ('application', 'servicePrincipal')`,
    'clients purged': () => service.database.sql`
      delete from directory_object where kind in ('application', 'servicePrincipal')`,
    'clients disabled': () => service.database.sql`
      update directory_object set properties = properties || '{"accountEnabled": false}'
      where kind = 'servicePrincipal'`,
    'administrator deleted': async () => service.database.sql`
      update directory_object set deleted_at = now() where id = ${await administratorId()}`,
    'administrator disabled': async () => service.database.sql`
      update directory_object set properties = properties || '{"accountEnabled": false}'
      where id = ${await administratorId()}`,
    'administrator purged, its name taken': async () => {
      const { sql } = service.database
      const name = (await findAdministrator(sql, service.tenantId))?.userPrincipalName
      await sql`delete from directory_object where id = ${await administratorId()}`
      await addUser({ userPrincipalName: 'admin@masquerade.local' })
      if (name !== 'admin@masquerade.local') await addUser({ userPrincipalName: name ?? '' })
    },
    'administrator deleted, its name taken': async () => {
      const { sql } = service.database
      const userPrincipalName = (await findAdministrator(sql, service.tenantId))?.userPrincipalName ?? ''
      await sql`update directory_object set deleted_at = now() where id = ${await administratorId()}`
      await addUser({ userPrincipalName })
    },
    'role and assignments gone': async () => {
      await service.database.sql`delete from directory_object where kind = 'directoryRole'`
      await service.database.sql`delete from role_assignment`
    },
    'membership of the role gone': () => service.database.sql`delete from member_edge`,
    'credentials and permissions gone': async () => {
      for (const table of ['application_secret', 'application_permission', 'user_password'])
        await service.database.sql`delete from ${service.database.sql(table)}`
    },
    'first start forgotten': () => service.database.sql`delete from first_start`,
    'organization gone': () => service.database.sql`
      delete from directory_object where kind = 'organization'`,
  }

  const addUser = (properties: Record<string, string>) => service.database.sql`
    insert into directory_object (tenant_id, id, kind, properties)
    values (${service.tenantId}, ${randomUUID()}, 'user', ${service.database.sql.json(properties)})
    on conflict do nothing`

  // Without a process for each; the command itself runs below, on all of the damage at once.
  for (const [name, damage] of Object.entries(damages))
    clause('TOK-73', restoring, async () => {
      await damage()
      const { database, tenantId, dataDir } = service
      const { steps } = await database.transaction(async (tx) => {
        const restored = await restoreAdministration(tx, {
          tenantId,
          domain: 'masquerade.local',
          assignOwner: (within, tenant, id) => assignAtRoot(within, tenant, 'Owner', id),
        })
        writeCredentials(dataDir, tenantId, restored)
        return restored
      })
      assert.ok(steps.length > 0, name)
      await assertRestored()
    })

  clause('TOK-73', restoring, async () => {
    for (const damage of Object.values(damages)) await damage()
    await service.database.sql`delete from signing_key`
    await service.database.sql`delete from oidc_state`
    assert.match(await run('admin', 'restore'), /^The administrator is admin.*\n( {2}.*\n)+$/)
    await assertRestored()
    await assertWorks((await run('token', '--admin')).trim())
    const files = await Promise.all(
      ['administrator-password', 'administrator-application.json'].map(readSecret),
    )
    const again = await run('admin', 'restore')
    assert.match(again, /^The administrator is .*\n {2}nothing was missing\n$/)
    assert.deepEqual(
      await Promise.all(['administrator-password', 'administrator-application.json'].map(readSecret)),
      files,
    )
  })

  clause('TOK-73', restoring, async () => {
    // By the API: a second administrator deletes the first for good.
    const permissions = Object.keys(knownPermissions)
    const directoryRoles = [directoryRoleTemplates['Global Administrator']]
    const { sql } = service.database
    const second = randomUUID()
    await sql`
      insert into directory_object (tenant_id, id, kind, properties) values (${service.tenantId}, ${second}, 'user',
        ${sql.json({ displayName: 'Second', userPrincipalName: 'second@example.com', accountEnabled: true })})`
    await sql`
      insert into member_edge (tenant_id, container_id, member_id)
      select tenant_id, id, ${second} from directory_object where kind = 'directoryRole'`
    await sql`
      insert into role_assignment (id, tenant_id, scope, shown_scope, role, principal_id)
      values (${randomUUID()}, ${service.tenantId}, '/', '/', 'Owner', ${second})`
    const applicationId = firstPartyApplications.cli.appId
    const token = service.tokenFor({ permissions, directoryRoles, principal: second, applicationId })
    const first = await administratorId()
    const send = async (method: string, path: string) =>
      (await service.request(method, `/v1.0${path}`, { token })).status
    assert.equal(await send('DELETE', `/users/${first}`), 204)
    assert.equal(await send('DELETE', `/directory/deletedItems/${first}`), 204)
    const refused = await runHere(['token', '--admin'], { environment })
    assert.match(refused.stderr, /'masquerade admin restore' brings it back/)
    await run('admin', 'restore')
    await assertRestored()
    assert.notEqual(await administratorId(), first)
  })

  clause('TOK-74', commanding, async () => {
    const { sql } = service.database
    await sql`delete from audit_event`
    const before = await readSecret('administrator-password')
    const said = await run('admin', 'restore', '--new-credentials')
    const [password, application] = await Promise.all(
      ['administrator-password', 'administrator-application.json'].map(async (name) => {
        const file = join(service.dataDir, name)
        assert.equal((await stat(file)).mode & 0o777, 0o600)
        assert.ok(said.includes(`wrote ${file}`))
        return await readFile(file, 'utf8')
      }),
    )
    assert.notEqual(password, before)
    await assertRestored()
    const [entry] = await sql<{ actor: { kind: string }; text: string }[]>`
        select actor, (e.*)::text as text from audit_event e where action = 'restoreAdministration'`
    assert.equal(entry?.actor.kind, 'operator')
    for (const secret of [password?.trim(), JSON.parse(application ?? '').clientSecret]) {
      assert.equal(said.includes(secret), false)
      assert.equal(entry?.text.includes(secret), false)
    }
    assert.equal((await runHere(['admin'], { environment })).code, 2)
    assert.equal((await runHere(['admin', 'destroy'], { environment })).code, 2)
    const elsewhere = { MASQUERADE_DATA_DIR: join(service.dataDir, 'nowhere') }
    const refused = await runHere(['admin', 'restore'], { environment: elsewhere })
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /^masquerade: There is no service in .*\n$/)
  })

  clause(
    'TOK-159',
    'With `--new-credentials`, `masquerade admin restore` ends the earlier secrets and certificates of "Masquerade administration", …',
    async () => {
      const { sql } = service.database
      await run('admin', 'restore')
      const { clientId, clientSecret } = JSON.parse(await readSecret('administrator-application.json'))
      const askToken = async (client_secret: string) => {
        const response = await fetch(`${service.origin}/common/oauth2/v2.0/token`, {
          method: 'POST',
          body: new URLSearchParams({
            grant_type: 'client_credentials',
            client_id: clientId,
            client_secret,
            scope: 'https://graph.microsoft.com/.default',
          }),
        })
        return (await response.json()) as Record<string, string>
      }
      const second = JSON.parse(await run('application', 'secret', clientId, '--json')).secretText
      const { key } = await makeCertificate()
      await sql`
        update directory_object set properties = properties || ${sql.json({ keyCredentials: [{ key }] })}
        where kind = 'application' and app_id = ${clientId}`
      const [bySecret, bySecond] = [await askToken(clientSecret), await askToken(second)]
      const unbound = (await run('token', '--application', '--permission', 'Organization.Read.All')).trim()
      const tokens = [bySecret.access_token ?? '', bySecond.access_token ?? '', unbound]
      for (const token of tokens) await assertWorks(token)

      const said = await run('admin', 'restore', '--new-credentials')
      for (const secret of [clientSecret, second])
        assert.equal((await askToken(secret)).error, 'invalid_client')
      for (const token of tokens)
        await retryUntil(async () => {
          assert.equal((await service.request('GET', '/v1.0/organization', { token })).status, 401)
        })
      const [row] = await sql<{ secrets: unknown[]; certificates: unknown }[]>`
        select properties -> 'passwordCredentials' as secrets, properties -> 'keyCredentials' as certificates
        from directory_object where kind = 'application' and app_id = ${clientId}`
      assert.deepEqual([row?.secrets.length, row?.certificates], [1, null])
      assert.match(said, /ended the earlier secrets, certificates and tokens of 'Masquerade administration'/)
      await assertRestored()
    },
  )

  clause(
    'TOK-76',
    'A new password that `masquerade admin restore` writes signs the administrator in, and the earlier one does not.',
    async () => {
      const { database, tenantId, dataDir } = service
      const earlier = (await readSecret('administrator-password')).trim()
      const { administrator } = await database.transaction(async (tx) => {
        const restored = await restoreAdministration(tx, {
          tenantId,
          domain: 'masquerade.local',
          newCredentials: true,
          assignOwner: (within, tenant, id) => assignAtRoot(within, tenant, 'Owner', id),
        })
        writeCredentials(dataDir, tenantId, restored)
        return restored
      })
      const { userPrincipalName } = administrator
      const signInWith = (password: string) =>
        verifySignIn(database.sql, tenantId, { userPrincipalName, password, address: '127.0.0.1' })
      const password = (await readSecret('administrator-password')).trim()
      assert.notEqual(password, earlier)
      assert.equal((await signInWith(earlier)).kind, 'refused')
      const outcome = await signInWith(password)
      assert.equal(outcome.kind === 'signed in' && outcome.user.id, administrator.id)
    },
  )

  clause('TOK-74', commanding, async () => {
    const dataDir = join(service.dataDir, 'embedded')
    const own = {
      MASQUERADE_DATA_DIR: dataDir,
      MASQUERADE_HTTP_PORT: '0',
      MASQUERADE_HTTPS_PORT: '0',
      MASQUERADE_GATEWAY_PORT: '0',
      MASQUERADE_EMBEDDED_PORT: '0',
    }
    const serve = async () => {
      const started = startCommand(['serve'], own)
      const screen = await started.waitFor(/Ctrl\+C stops it/)
      const stop = async () => {
        started.child.kill('SIGTERM')
        assert.equal((await started.ended).code, 0)
      }
      return { origin: /http:\/\/\S+?:\d+/.exec(screen)?.[0] ?? '', stop }
    }
    await (await serve()).stop()
    await rm(join(dataDir, 'secret.key'))
    const unsure = await runCommand(['admin', 'restore'], own)
    assert.equal(unsure.code, 1)
    assert.match(unsure.stderr, /secret\.key is missing.*--replace-keys/)
    const restored = await runCommand(['admin', 'restore', '--replace-keys'], own)
    assert.equal(restored.code, 0, restored.stderr)
    const { origin, stop } = await serve()
    const token = (await runCommand(['token', '--admin'], own)).stdout.trim()
    const answer = await fetch(`${origin}/v1.0/organization`, {
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(answer.status, 200)
    await stop()
  })
})
