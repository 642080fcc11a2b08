import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { addApplication } from '../../support/issuer.ts'
import { useMasking } from '../../support/masking.ts'
import { type Outcome, overlap, queueForObjects, type Write } from '../../support/overlapping-writes.ts'
import { runHere } from '../../support/run-here.ts'
import { waitUntil } from '../../support/wait-until.ts'

const { service, send } = useMasking()
const directory = () => fillDirectory(service())

/** May do everything. */
const give = (method: string, path: string, body?: unknown) =>
  service().request(method, `/v1.0${path}`, {
    token: service().tokenFor({ kind: 'application', permissions: Object.keys(knownPermissions) }),
    ...(body !== undefined && { body }),
  })
const run = async (...command: string[]): Promise<Outcome> => {
  const { dataDir, databaseUrl } = service()
  const environment = { MASQUERADE_DATA_DIR: dataDir, MASQUERADE_DATABASE_URL: databaseUrl }
  const { code, stderr } = await runHere(command, { environment })
  return { status: code === 0 ? 200 : 500, text: stderr }
}
const role = (type: 'User' | 'Application' = 'User') => {
  const id = randomUUID()
  return { id, allowedMemberTypes: [type], displayName: 'Reader', value: id, isEnabled: true }
}

/** The service begins a write again that PostgreSQL ended because of a deadlock: the answers do not tell. */
async function refuseDeadlocks(): Promise<void> {
  const { sql } = service().database
  const [seen] = await sql<{ deadlocks: number }[]>`
    select deadlocks::int from pg_stat_database where datname = current_database()`
  assert.equal(seen?.deadlocks, 0)
}

clause(
  'DIR-383',
  'A service principal that is created while its application is deleted or changed is stored before that, or waits for …',
  async (t) => {
    /** An application without a service principal. */
    const register = async () => {
      const made = await give('POST', '/applications', { displayName: `Tides ${randomUUID()}` })
      assert.equal(made.status, 201, made.text)
      const { id, appId } = made.body as { id: string; appId: string }
      return { id, appId, create: () => give('POST', '/servicePrincipals', { appId }) }
    }
    const countLiving = async (appId: string) => {
      const rows = await service().database.sql`
        select from directory_object where kind = 'servicePrincipal' and app_id = ${appId} and deleted_at is null`
      return rows.count
    }
    await t.test('before the deletion', async () => {
      const { id, appId, create } = await register()
      const [made, gone] = await overlap(service(), create, () => give('DELETE', `/applications/${id}`))
      assert.deepEqual([made.status, gone.status], [201, 204], made.text + gone.text)
      assert.equal(await countLiving(appId), 0, 'it goes with its application')
      assert.equal((await give('POST', `/directory/deletedItems/${id}/restore`)).status, 200)
      assert.equal(await countLiving(appId), 1, 'and comes back with it')
    })
    await t.test('behind the deletion', async () => {
      const { id, appId, create } = await register()
      const [gone, made] = await overlap(service(), () => give('DELETE', `/applications/${id}`), create)
      assert.deepEqual([gone.status, made.status], [204, 400], made.text)
      assert.equal(await countLiving(appId), 0)
    })
    await t.test('behind the deletion of both', async () => {
      const { id, appId, create } = await register()
      assert.equal((await create()).status, 201)
      const [gone, made] = await overlap(service(), () => give('DELETE', `/applications/${id}`), create)
      assert.deepEqual([gone.status, made.status], [204, 400], made.text)
      const restored = await give('POST', `/directory/deletedItems/${id}/restore`)
      assert.equal(restored.status, 200, 'no other service principal is in the way')
      assert.equal(await countLiving(appId), 1)
    })
    await t.test('beside a change of the app roles', async () => {
      for (const isFirst of [true, false]) {
        const { id, create } = await register()
        const appRoles = [role()]
        const change: Write = () => give('PATCH', `/applications/${id}`, { appRoles })
        const [first, second]: readonly [Write, Write] = isFirst ? [create, change] : [change, create]
        const answers = await overlap(service(), first, second)
        const made = answers[isFirst ? 0 : 1] as Awaited<ReturnType<typeof give>>
        assert.equal(made.status, 201, made.text)
        const { body } = await give('GET', `/servicePrincipals/${made.body.id}`)
        assert.deepEqual(
          body.appRoles.map((one: { id: string }) => one.id),
          appRoles.map((one) => one.id),
        )
      }
    })
    await t.test('before it is pruned', async () => {
      const [kept, { appId, create }] = [await register(), await register()]
      const file = join(service().dataDir, 'applications.jsonl')
      const line = { type: 'application', id: kept.id, appId: kept.appId, displayName: 'Kept' }
      await writeFile(file, `${JSON.stringify(line)}\n`)
      const prune: Write = () => run('import', file, '--prune', '--yes')
      const [made, pruned] = await overlap(service(), create, prune)
      assert.deepEqual([made.status, pruned.status], [201, 200], made.text + pruned.text)
      assert.equal(await countLiving(appId), 0)
    })
  },
)

clause(
  'DIR-384',
  'An app role, permission or consent whose principal or client is deleted at the same time is stored before that, or is 404…',
  async (t) => {
    const withRole = async () => {
      const one = await addApplication(service())
      const appRole = role('Application')
      const changed = await give('PATCH', `/applications/${one.applicationId}`, { appRoles: [appRole] })
      assert.equal(changed.status, 204, changed.text)
      return { id: one.servicePrincipalId, appRoleId: appRole.id }
    }
    await t.test('roles of two applications for each other', async () => {
      const [one, other] = [await withRole(), await withRole()]
      const assign = (principal: typeof one, resource: typeof one): Write => {
        const body = { principalId: principal.id, resourceId: resource.id, appRoleId: resource.appRoleId }
        return () => give('POST', `/servicePrincipals/${principal.id}/appRoleAssignments`, body)
      }
      const writes = [assign(one, other), assign(other, one)]
      const answers = await queueForObjects(service(), [one.id, other.id], ...writes)
      assert.deepEqual(
        answers.map(({ status }) => status),
        [201, 201],
      )
      await refuseDeadlocks()
    })

    const consent = async (userId: string) => {
      const { servicePrincipalId: clientId } = await addApplication(service())
      const resourceId = await directory().findApi()
      const body = { clientId, consentType: 'Principal', principalId: userId, resourceId }
      return {
        clientId,
        send: () => give('POST', '/oauth2PermissionGrants', { ...body, scope: 'User.Read' }),
      }
    }
    await t.test('a consent for a user who is deleted', async () => {
      const user = await directory().user()
      const { clientId, send: ask } = await consent(user)
      const [gone, given] = await overlap(service(), () => give('DELETE', `/users/${user}`), ask)
      assert.deepEqual([gone.status, given.status], [204, 404], given.text)
      const left = await service().database.sql`
        select from delegated_permission where client_id = ${clientId}`
      assert.equal(left.count, 0)
    })

    /** Runs the body while another session has locked the user. */
    const whileLocked = async (user: string, body: () => Promise<void>) => {
      const holder = new pg.Client(service().databaseUrl)
      await holder.connect()
      try {
        await holder.query('begin')
        await holder.query(`select from masquerade.directory_object where id = '${user}' for update`)
        await body()
      } finally {
        await holder.end()
      }
    }
    const byCommand = async (user: string): Promise<Write> => {
      const { appId } = await addApplication(service())
      const { sql } = service().database
      const [row] = await sql<{ name: string }[]>`
        select user_principal_name as name from directory_object where id = ${user}`
      return () =>
        run('application', 'consent', appId, '--permission', 'User.Read', '--user', row?.name ?? '')
    }
    const widened = async (user: string): Promise<Write> => {
      const given = (await (await consent(user)).send()) as Awaited<ReturnType<typeof give>>
      assert.equal(given.status, 201, given.text)
      return () => give('PATCH', `/oauth2PermissionGrants/${given.body.id}`, { scope: 'User.Read Mail.Read' })
    }
    const ways: Readonly<Record<string, (user: string) => Promise<Write>>> = {
      'a consent': async (user) => (await consent(user)).send,
      'a wider consent': widened,
      'a consent by command': byCommand,
    }
    for (const [name, make] of Object.entries(ways))
      await t.test(`${name} that waits for its user keeps no right from being given`, async () => {
        const [user, group] = [await directory().user(), await directory().group()]
        const write = await make(user)
        let waiting: Promise<Outcome> | undefined
        await whileLocked(user, async () => {
          waiting = write()
          await waitUntil('the consent waits', async () => {
            const rows = await service().database.sql`
              select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
            return rows.length > 0
          })
          const url = `/providers/Vendor.Authorization/roleAssignments/${randomUUID()}`
          const given = await send('PUT', url, { properties: { principalId: group, roleName: 'Reader' } })
          assert.equal(given.status, 201, given.text)
        })
        const answer = await waiting
        assert.ok(answer && answer.status < 300, `it was 503 where the right waited for it: ${answer?.text}`)
      })
  },
)
