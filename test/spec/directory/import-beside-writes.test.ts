import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import type { Tx } from '../../../src/db/database.ts'
import { importDirectory } from '../../../src/directory/transfer/import-directory.ts'
import { ImportFailed, type ImportOutcome } from '../../../src/directory/transfer/import-result.ts'
import { clause } from '../../support/clause.ts'
import { makeCertificate } from '../../support/client-certificate.ts'
import { addApplication } from '../../support/issuer.ts'
import { startTestService, type TestResponse, type TestService } from '../../support/service.ts'
import { waitUntil } from '../../support/wait-until.ts'

const permissions = [
  'User.ReadWrite.All',
  'Directory.Read.All',
  'Group.ReadWrite.All',
  'Device.ReadWrite.All',
  'Application.ReadWrite.All',
  'Directory.ReadWrite.All',
  'RoleManagement.ReadWrite.Directory',
]

describe('an import beside other writes', () => {
  let service: TestService
  before(async () => {
    service = await startTestService()
  })
  after(() => service?.[Symbol.asyncDispose]())

  const call = (method: string, path: string, body?: object) =>
    service.request(method, `/v1.0${path}`, {
      token: service.tokenFor({ kind: 'application', permissions }),
      ...(body && { body }),
    })
  const get = async (path: string) => (await call('GET', path)).body
  const create = async (path: string, body: object) => {
    const { status, body: created, text } = await call('POST', path, body)
    assert.equal(status, 201, text)
    return created as { id: string; appId: string }
  }
  const nameOf = (word: string) => `${word}-${randomUUID()}@example.com`
  const user = (userPrincipalName: string) => ({
    accountEnabled: true,
    displayName: 'Ada',
    mailNickname: 'ada',
    userPrincipalName,
    passwordProfile: { password: 'Long-enough-42' },
  })
  const addUser = async (name = nameOf('ada')) => ({ name, ...(await create('/users', user(name))) })
  const addGroup = () =>
    create('/groups', { displayName: 'All', mailEnabled: false, mailNickname: 'all', securityEnabled: true })
  const addTo = (group: string, relation: 'members' | 'owners', member: string) =>
    call('POST', `/groups/${group}/${relation}/$ref`, {
      '@odata.id': `https://x/v1.0/directoryObjects/${member}`,
    })

  /** `watch` stands between the import and its transaction. */
  async function importLines(
    lines: readonly object[],
    { prune = false, watch = (tx: Tx) => tx } = {},
  ): Promise<ImportOutcome> {
    const { tenantId } = service
    async function* chunks() {
      for (const line of lines) yield Buffer.from(`${JSON.stringify(line)}\n`)
    }
    return await service.database.transaction((tx) =>
      importDirectory(watch(tx), { tenantId, fileName: 'test', chunks: chunks(), prune }),
    )
  }

  /** Calls `act` before each statement of this form, with `?` for its values. */
  const actBefore =
    (form: RegExp, act: () => Promise<void>) =>
    (tx: Tx): Tx =>
      new Proxy(tx, {
        apply(target, self, args) {
          const [strings] = args as [readonly string[] | string]
          const run = () => Reflect.apply(target as never, self, args)
          const isMeant = typeof strings !== 'string' && form.test(strings.join('?'))
          return isMeant ? act().then(run) : run()
        },
        get: (target, key) =>
          key === 'savepoint'
            ? (run: (inner: Tx) => Promise<unknown>) =>
                tx.savepoint((inner) => run(actBefore(form, act)(inner)))
            : Reflect.get(target, key),
      })

  const waiting = async (text: string) =>
    (
      await service.database.sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
          and query like ${text}`
    ).length

  /** Requests that hold their rows and wait to commit until the import, which read these rows before, waits for them. */
  async function importWhile(
    lines: readonly object[],
    requests: readonly (() => Promise<TestResponse>)[],
  ): Promise<{ importing: Promise<ImportOutcome>; answers: TestResponse[] }> {
    const { importing, sent } = await service.database.transaction(async (tx) => {
      await tx`select from revision_counter for update`
      const sent: Promise<TestResponse>[] = []
      for (const request of requests) {
        sent.push(request())
        await waitUntil(
          'the request is about to commit',
          async () => (await waiting('commit')) === sent.length,
        )
      }
      const importing = importLines(lines)
      importing.catch(() => {})
      // Behind its last lock of objects it waits for the counter.
      await waitUntil(
        'the import waits',
        async () => (await waiting('%import\\_%')) + (await waiting('%into revision\\_counter%')) > 0,
      )
      return { importing, sent }
    })
    return { importing, answers: await Promise.all(sent) }
  }

  const faultsOf = async (importing: Promise<unknown>) => {
    const error = await importing.then(
      () => assert.fail('the file was imported'),
      (reason: unknown) => reason,
    )
    assert.ok(error instanceof ImportFailed, String(error))
    return error.faults.map(({ line, reason }) => `${line}: ${reason}`)
  }

  clause(
    'DIR-388',
    'An import with `--prune` sends the store as many statements for many objects that it removes as for few: …',
    async () => {
      const { tenantId, database } = service
      const device = { type: 'device', id: randomUUID(), deviceId: randomUUID(), displayName: 'Kept' }
      const kept = { ...device, accountEnabled: true, operatingSystem: 'Linux', operatingSystemVersion: '1' }
      const group = await addGroup()
      const unified = {
        type: 'group',
        id: group.id,
        displayName: 'All',
        mailEnabled: false,
        mailNickname: 'all',
        securityEnabled: true,
      }
      const countStatements = async (objects: number) => {
        await database.sql`
          insert into directory_object (tenant_id, id, kind, properties)
          select ${tenantId}, gen_random_uuid(), kind, jsonb_build_object('displayName', 'Gone', 'deviceId', gen_random_uuid(), 'mailNickname', n)
          from generate_series(1, ${objects}::int) as n, unnest(array['device', 'group']) as kind`
        await database.sql`
          insert into member_edge (tenant_id, container_id, member_id)
          select tenant_id, ${group.id}, id from directory_object where display_name = 'Gone' and kind = 'device' and deleted_at is null`
        let count = 0
        const watch = actBefore(/^\s*(update|delete from) /, async () => void count++)
        const { removed } = await importLines([kept, unified], { prune: true, watch })
        assert.ok(removed >= 2 * objects)
        return count
      }
      await countStatements(1)
      assert.equal(await countStatements(50), await countStatements(2))
    },
  )

  clause(
    'DIR-370',
    'The members and owners that `--prune` removes are those that it counts, names and logs, also those that are added…',
    async () => {
      const group = await addGroup()
      const [kept, doomed, late] = [await addUser(), await addUser(), await addUser()]
      for (const { id } of [kept, doomed])
        for (const relation of ['members', 'owners'] as const)
          assert.equal((await addTo(group.id, relation, id)).status, 204)
      const groupsOf = async (id: string) => {
        const answer = await call('POST', `/users/${id}/checkMemberGroups`, { groupIds: [group.id] })
        assert.equal(answer.status, 200, answer.text)
        return answer.body.value
      }
      let added = 0
      // Before each statement that deletes edges, a caller adds one that the file does not have.
      const watch = actBefore(/^\s*delete from \? edge using/, async () => {
        const relation = added++ === 0 ? 'members' : 'owners'
        assert.equal((await addTo(group.id, relation, late.id)).status, 204)
      })
      const outcome = await importLines(
        [
          { type: 'member', group: group.id, member: kept.id },
          { type: 'owner', object: group.id, owner: kept.id },
        ],
        { prune: true, watch },
      )
      assert.equal(added, 2)
      const listed = async (relation: string) =>
        (await get(`/groups/${group.id}/${relation}`)).value.map(({ id }: { id: string }) => id)
      assert.deepEqual(await listed('members'), [kept.id])
      assert.deepEqual(await listed('owners'), [kept.id])
      assert.deepEqual(await groupsOf(late.id), [], 'no membership that the store does not have counts')
      assert.deepEqual(await groupsOf(kept.id), [group.id])
      assert.equal(outcome.removed, 4)
      assert.ok(outcome.removedNames.includes(`member ${late.name} of All`), outcome.removedNames.join())
      const logged = await service.database.sql<{ kind: string }[]>`
        select kind from change_log where data ->> 'id' = ${late.id} order by revision`
      assert.deepEqual(
        logged.map(({ kind }) => kind).sort(),
        ['memberAdded', 'memberRemoved', 'ownerAdded', 'ownerRemoved'].sort(),
      )
    },
  )

  clause(
    'DIR-371',
    'An import changes the properties that its lines state, on the objects as they are when it locks them, in the order of…',
    async () => {
      const ada = await addUser()
      const [one, other] = [await addApplication(service), await addApplication(service)]
      const { key } = await makeCertificate()
      const keys = `/applications/${one.applicationId}`
      const credential = { type: 'AsymmetricX509Cert', usage: 'Verify', key }
      assert.equal((await call('PATCH', keys, { keyCredentials: [credential] })).status, 204)
      const { importing, answers } = await importWhile(
        [
          { type: 'user', userPrincipalName: ada.name, department: 'Sales', jobTitle: 'Pilot' },
          { type: 'application', id: one.applicationId, description: 'One' },
          { type: 'application', id: other.applicationId, description: 'Other' },
        ],
        [
          () => call('PATCH', `/users/${ada.id}`, { accountEnabled: false, jobTitle: 'Cook' }),
          () => call('PATCH', keys, { keyCredentials: [] }),
          () => call('POST', `/applications/${other.applicationId}/addPassword`, {}),
        ],
      )
      assert.deepEqual(
        answers.map(({ status }) => status),
        [204, 204, 200],
      )
      assert.equal((await importing).changed, 3)
      const seen = await get(`/users/${ada.id}?$select=accountEnabled,department,jobTitle`)
      assert.deepEqual(
        [seen.accountEnabled, seen.department, seen.jobTitle],
        [false, 'Sales', 'Pilot'],
        'a disabled account stays disabled',
      )
      const first = await get(keys)
      assert.deepEqual([first.keyCredentials, first.description], [[], 'One'])
      const second = await get(`/applications/${other.applicationId}`)
      assert.equal(second.description, 'Other')
      assert.ok(
        second.passwordCredentials.some(({ keyId }: { keyId: string }) => keyId === answers[2]?.body.keyId),
        'a secret that works is listed',
      )
    },
  )

  clause(
    'DIR-419',
    'A line of an import that has `passwordCredentials` or `keyCredentials`, also as null, is a fault: …',
    async () => {
      const { applicationId: id } = await addApplication(service)
      const { key } = await makeCertificate()
      const credential = { type: 'AsymmetricX509Cert', usage: 'Verify', key }
      assert.equal((await call('PATCH', `/applications/${id}`, { keyCredentials: [credential] })).status, 204)
      for (const name of ['passwordCredentials', 'keyCredentials']) {
        for (const value of [null, []])
          await assert.rejects(importLines([{ type: 'application', id, [name]: value }]), (error) => {
            assert.ok(error instanceof ImportFailed)
            assert.match(error.faults[0]?.reason ?? '', /read-only/)
            return true
          })
        assert.equal((await get(`/applications/${id}`))[name].length, 1)
      }
    },
  )

  clause(
    'DIR-420',
    'Null in a line of an import for a property that only the creation of the object sets is a fault where the object has a value: …',
    async () => {
      const { applicationId, appId } = await addApplication(service)
      const uniqueName = `unique-${randomUUID()}`
      const admins = randomUUID()
      const plain = randomUUID()
      const group = { type: 'group', securityEnabled: true, mailEnabled: false }
      await importLines([
        { ...group, id: admins, displayName: 'Admins', isAssignableToRole: true, uniqueName },
        { ...group, id: plain, displayName: 'Plain', isAssignableToRole: false, resourceBehaviorOptions: [] },
      ])
      const lines: readonly [name: string, line: object][] = [
        ['isAssignableToRole', { type: 'group', id: admins, isAssignableToRole: null }],
        ['uniqueName', { type: 'group', id: admins, description: 'x', uniqueName: null }],
        ['appId', { type: 'application', id: applicationId, appId: null }],
      ]
      for (const [name, line] of lines)
        assert.deepEqual(await faultsOf(importLines([line])), [
          `1: ${name} cannot be changed once the object is there.`,
        ])
      const kept = await get(`/groups/${admins}?$select=isAssignableToRole,uniqueName`)
      assert.deepEqual([kept.isAssignableToRole, kept.uniqueName], [true, uniqueName])
      assert.equal((await get(`/applications/${applicationId}`)).appId, appId)
      const nulls = { isAssignableToRole: null, resourceBehaviorOptions: null, uniqueName: null }
      const { changed } = await importLines([{ type: 'group', id: plain, description: 'y', ...nulls }])
      assert.equal(changed, 1, 'null for a property without a value says what is so')
    },
  )

  const refusedLines =
    'A line whose object is deleted or renamed while the import runs, or whose new object gets a unique name that…'
  const named = ({ name }: { name: string }, department: string) => ({
    type: 'user',
    userPrincipalName: name,
    department,
  })

  clause('DIR-372', refusedLines, async () => {
    const [gone, renamed, stays] = [await addUser(), await addUser(), await addUser()]
    const fresh = nameOf('eve')
    const beside = await importWhile(
      [named(stays, 'A'), named(gone, 'A'), named(renamed, 'A')],
      [
        () => call('DELETE', `/users/${gone.id}`),
        () => call('PATCH', `/users/${renamed.id}`, { userPrincipalName: fresh }),
      ],
    )
    assert.deepEqual(
      beside.answers.map(({ status }) => status),
      [204, 204],
    )
    assert.deepEqual(await faultsOf(beside.importing), [
      '2: The object was deleted while the file was read. Import it again.',
      '3: The object of this name was renamed while the file was read. Import it again.',
    ])
    assert.equal((await get(`/users/${renamed.id}`)).userPrincipalName, fresh)
    assert.equal((await get(`/users/${stays.id}?$select=department`)).department, null)
  })

  clause('DIR-372', refusedLines, async () => {
    const stays = await addUser()
    const taken = nameOf('kim')
    // Beside a change the names of new objects were looked at before the caller took one of them.
    const { passwordProfile: _, ...line } = user(taken)
    const late = await importWhile(
      [named(stays, 'B'), { type: 'user', ...line }],
      [() => call('POST', '/users', user(taken))],
    )
    assert.equal(late.answers[0]?.status, 201)
    assert.deepEqual(await faultsOf(late.importing), [
      '2: The userPrincipalName is in use in the directory already.',
    ])
    assert.equal((await get(`/users/${stays.id}?$select=department`)).department, null)
  })

  clause('DIR-372', refusedLines, async () => {
    const line = {
      accountEnabled: true,
      deviceId: randomUUID(),
      displayName: 'Laptop',
      operatingSystem: 'Linux',
      operatingSystemVersion: '1',
    }
    const { id } = await create('/devices', line)
    // Gone for good between the statement that finds it by its deviceId and the one that reads it.
    const watch = actBefore(/^\s*with moved as/, async () => {
      assert.equal((await call('DELETE', `/devices/${id}`)).status, 204)
    })
    const importing = importLines([{ type: 'device', ...line }], { watch })
    assert.deepEqual(await faultsOf(importing), [
      '1: The object was deleted while the file was read. Import it again.',
    ])
  })

  clause('DIR-372', refusedLines, async () => {
    const { id } = await addUser()
    const [extensionName, applicationId] = ['com.example.desk', randomUUID()]
    const line = { type: 'extension', object: id, extensionName, applicationId }
    await importLines([{ ...line, data: { floor: 1 } }])
    const path = `/users/${id}/extensions/${extensionName}`
    const { importing, answers } = await importWhile(
      [{ ...line, data: { floor: 2 } }],
      [() => call('DELETE', path)],
    )
    assert.equal(answers[0]?.status, 204)
    assert.equal((await importing).created, 1)
    assert.equal((await get(path)).floor, 2)
  })

  /** Calls `act` once, before the first statement of this form. */
  const actOnceBefore = (form: RegExp, act: () => Promise<void>) => {
    let isDone = false
    const watch = actBefore(form, async () => {
      if (isDone) return
      isDone = true
      await act()
    })
    return { watch, isDone: () => isDone }
  }

  clause(
    'DIR-374',
    'An import makes the passwords and invitations of new users before it locks the objects that it changes: changes of…',
    async () => {
      const ada = await addUser()
      const { passwordProfile: _, ...fresh } = user(nameOf('new'))
      let patched: Promise<TestResponse> | undefined
      const { watch, isDone } = actOnceBefore(/from import_object where kind = 'user'/, async () => {
        let isAnswered = false
        patched = call('PATCH', `/users/${ada.id}`, { jobTitle: 'Cook' })
        void patched.then(() => {
          isAnswered = true
        })
        await waitUntil('it is answered or waits', async () => isAnswered || (await waiting('%')) > 0)
        assert.ok(isAnswered, 'a change of an object of the file waits')
      })
      const outcome = await importLines(
        [
          { type: 'user', id: ada.id, department: 'Sales' },
          { type: 'user', ...fresh, initialPassword: 'Long-enough-42' },
        ],
        { watch },
      )
      assert.ok(isDone())
      assert.equal((await patched)?.status, 204)
      assert.deepEqual([outcome.created, outcome.changed], [1, 1])
      const seen = await get(`/users/${ada.id}?$select=department,jobTitle`)
      assert.deepEqual([seen.department, seen.jobTitle], ['Sales', 'Cook'])
      const stored = await service.database.sql`
        select from user_password join directory_object o on o.id = user_id
        where o.user_principal_name = ${fresh.userPrincipalName} and must_change and hash like '$argon2id$%'`
      assert.equal(stored.length, 1)
    },
  )

  clause(
    'DIR-375',
    'A membership, owner or extension of a file whose objects are deleted while the import runs is a fault; from its check to…',
    async () => {
      for (const type of ['member', 'owner', 'extension']) {
        const [group, member] = [await addGroup(), await addUser()]
        const line = {
          member: { group: group.id, member: member.id },
          owner: { object: group.id, owner: member.id },
          extension: {
            object: group.id,
            extensionName: 'com.example.desk',
            applicationId: randomUUID(),
            data: { floor: 1 },
          },
        }[type]
        const deleted: Promise<TestResponse>[] = []
        // Behind the check of the lines.
        const { watch, isDone } = actOnceBefore(
          /^\s*insert into (member_edge|owner_edge|open_extension)/,
          async () => {
            let answered = 0
            deleted.push(call('DELETE', `/groups/${group.id}`))
            void deleted[0]?.then(() => answered++)
            await waitUntil('it is answered or waits', async () => answered > 0 || (await waiting('%')) > 0)
            assert.equal(answered, 0, `a ${type} of a deleted group`)
          },
        )
        assert.equal((await importLines([{ type, ...line }], { watch })).created, 1)
        assert.ok(isDone(), type)
        assert.equal((await deleted[0])?.status, 204)
      }
    },
  )

  clause(
    'DIR-375',
    'A membership, owner or extension of a file whose objects are deleted while the import runs is a fault; from its check to…',
    async () => {
      const [group, member] = [await addGroup(), await addUser()]
      const { importing, answers } = await importWhile(
        [{ type: 'member', group: group.id, member: member.id }],
        [() => call('DELETE', `/users/${member.id}`)],
      )
      assert.equal(answers[0]?.status, 204)
      assert.deepEqual(await faultsOf(importing), [`1: There is no member ${member.id}.`])
    },
  )

  clause(
    'DIR-381',
    'A membership or owner of a file that a caller adds while the import runs is unchanged. It is a fault where the file…',
    async () => {
      for (const relation of ['members', 'owners'] as const) {
        const group = await addGroup()
        const [one, two] = [await addUser(), await addUser()]
        const lineOf = ({ id }: { id: string }) =>
          relation === 'members'
            ? { type: 'member', group: group.id, member: id }
            : { type: 'owner', object: group.id, owner: id }
        let isAdded = false
        const addOnce = async () => {
          if (isAdded) return
          isAdded = true
          assert.equal((await addTo(group.id, relation, one.id)).status, 204)
        }
        const watch = (tx: Tx) =>
          new Proxy(tx, {
            get: (target, key, self) =>
              key === 'savepoint'
                ? async (run: (inner: Tx) => Promise<unknown>) => {
                    await addOnce()
                    return await tx.savepoint(run)
                  }
                : Reflect.get(target, key, self),
          })
        const outcome = await importLines([lineOf(one), lineOf(two)], { watch })
        assert.ok(isAdded)
        assert.deepEqual([outcome.created, outcome.unchanged], [1, 1])
        const listed = (await get(`/groups/${group.id}/${relation}`)).value
        assert.deepEqual(listed.map(({ id }: { id: string }) => id).sort(), [one.id, two.id].sort())
        const logged = await service.database.sql`
          select from change_log where entity_id = ${group.id} and data ->> 'id' = ${one.id}`
        assert.equal(logged.length, 1, 'it is logged once')
        const doubled = { ...lineOf(await addUser()) }
        assert.deepEqual(await faultsOf(importLines([doubled, doubled])), ['2: It says the same as line 1.'])
      }
    },
  )

  clause(
    'DIR-421',
    'A service principal that an import creates has the app roles that its application has then, also where a caller changes these…',
    async (t) => {
      const role = (value: string) => ({
        id: randomUUID(),
        value,
        displayName: value,
        description: value,
        allowedMemberTypes: ['User'],
        isEnabled: true,
      })
      const register = async () => {
        const { id, appId } = await create('/applications', {
          displayName: 'One',
          appRoles: [role('Former')],
        })
        const line = { type: 'servicePrincipal', id: randomUUID(), appId, displayName: 'One' }
        const path = `/applications/${id}`
        return { appId, line, path, change: () => call('PATCH', path, { appRoles: [role('Later')] }) }
      }
      const rolesOf = async (id: string) =>
        (await get(`/servicePrincipals/${id}`)).appRoles.map(({ value }: { value: string }) => value)
      /** Sends the request before this statement of the import, and goes on when it is answered or waits. */
      const sendBefore = (form: RegExp, send: () => Promise<TestResponse>) => {
        const sent: Promise<TestResponse>[] = []
        const { watch, isDone } = actOnceBefore(form, async () => {
          let isAnswered = false
          const answer = send()
          sent.push(answer)
          void answer.then(() => {
            isAnswered = true
          })
          await waitUntil('it is answered or waits', async () => isAnswered || (await waiting('%')) > 0)
        })
        return { watch, isDone, answer: async () => await sent[0] }
      }

      await t.test('a change that is about to commit', async () => {
        const { line, change } = await register()
        const { importing, answers } = await importWhile([line], [change])
        assert.equal(answers[0]?.status, 204, answers[0]?.text)
        assert.equal((await importing).created, 1)
        assert.deepEqual(await rolesOf(line.id), ['Later'])
      })
      await t.test('a change behind the lines', async () => {
        const { line, change } = await register()
        const { watch, isDone, answer } = sendBefore(/^\s*create temporary table import_kind/, change)
        assert.equal((await importLines([line], { watch })).created, 1)
        assert.ok(isDone())
        assert.equal((await answer())?.status, 204)
        assert.deepEqual(await rolesOf(line.id), ['Later'])
      })
      await t.test('a deletion of the application behind the lines', async () => {
        const { line, path } = await register()
        const { watch, isDone, answer } = sendBefore(/^\s*create temporary table import_kind/, () =>
          call('DELETE', path),
        )
        assert.equal((await importLines([line], { watch })).created, 1)
        assert.ok(isDone())
        assert.equal((await answer())?.status, 204)
        assert.equal((await call('GET', `/servicePrincipals/${line.id}`)).status, 404, 'it goes along')
      })
      await t.test('another service principal of the application', async () => {
        const { line, appId } = await register()
        let attempts = 0
        const { watch, isDone, answer } = sendBefore(/^\s*select properties ->> 'appId' as "appId"/, () =>
          call('POST', '/servicePrincipals', { appId }),
        )
        const counted = (tx: Tx) => {
          attempts++
          return watch(tx)
        }
        assert.equal((await importLines([line], { watch: counted })).created, 1)
        assert.ok(isDone())
        const refused = await answer()
        assert.equal(refused?.status, 400, refused?.text)
        assert.equal(attempts, 1, 'no deadlock')
      })
    },
  )

  clause(
    'DIR-432',
    'A line about a new service principal whose application is deleted is a fault: the application could not be restored beside it…',
    async () => {
      const { id, appId } = await create('/applications', { displayName: 'One' })
      const own = await create('/servicePrincipals', { appId })
      assert.equal((await call('DELETE', `/applications/${id}`)).status, 204)
      const line = { type: 'servicePrincipal', id: randomUUID(), appId, displayName: 'One' }
      assert.deepEqual(await faultsOf(importLines([line])), [
        '1: Its application is deleted. Restore the application, or delete it for good.',
      ])
      const restored = await call('POST', `/directory/deletedItems/${id}/restore`)
      assert.equal(restored.status, 200, restored.text)
      assert.equal((await get(`/servicePrincipals/${own.id}`)).appId, appId)
      const unregistered = { ...line, appId: randomUUID() }
      assert.equal((await importLines([unregistered])).created, 1, 'one without an application is no fault')
    },
  )

  clause(
    'DIR-382',
    'Names that a caller takes while the import runs are faults of their lines, also the new name of an object that a line…',
    async () => {
      const ada = await addUser()
      const taken = nameOf('zoe')
      const { watch, isDone } = actOnceBefore(
        /^\s*update directory_object o set properties = merged/,
        async () => {
          await create('/users', user(taken))
        },
      )
      const importing = importLines([{ type: 'user', id: ada.id, userPrincipalName: taken }], { watch })
      assert.deepEqual(await faultsOf(importing), [
        '1: The userPrincipalName is in use in the directory already.',
      ])
      assert.ok(isDone())
      assert.equal((await get(`/users/${ada.id}`)).userPrincipalName, ada.name)
    },
  )

  clause(
    'DIR-382',
    'Names that a caller takes while the import runs are faults of their lines, also the new name of an object that a line…',
    async () => {
      const { id } = await addUser()
      const extensionName = 'com.example.desk'
      const line = {
        type: 'extension',
        object: id,
        extensionName,
        applicationId: randomUUID(),
        data: { floor: 1 },
      }
      const { importing, answers } = await importWhile(
        [line],
        [
          () =>
            call('POST', `/users/${id}/extensions`, {
              '@odata.type': 'vendor.graph.openTypeExtension',
              extensionName,
              floor: 2,
            }),
        ],
      )
      assert.equal(answers[0]?.status, 201, answers[0]?.text)
      assert.deepEqual(await faultsOf(importing), ['1: The object has an extension of this name already.'])
    },
  )
})
