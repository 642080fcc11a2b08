import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { clause, tableRows } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('getMemberGroups', () => {
  let service: TestService
  let directory: TestDirectory
  let reader: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    reader = await service.tokenFor({ permissions: ['Directory.Read.All'] })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const ask = (path: string, securityEnabledOnly: unknown = false, token = reader) =>
    service.request('POST', `/v1.0${path}/getMemberGroups`, { token, body: { securityEnabledOnly } })

  async function groupsOf(path: string, securityEnabledOnly = false): Promise<string[]> {
    const { status, body } = await ask(path, securityEnabledOnly)
    assert.equal(status, 200)
    return body.value.toSorted()
  }

  clause(
    'DIR-04',
    'One operation returns the identifiers of all groups of which a directory object is a member, directly or through other groups.',
    async () => {
      const [user, inner, middle, outer, other] = [
        await directory.user(),
        await directory.group(),
        await directory.unifiedGroup(),
        await directory.group(),
        await directory.group(),
      ]
      await directory.join(user, inner)
      await directory.join(inner, middle)
      await directory.join(middle, outer)
      await directory.join(await directory.user(), other)
      assert.deepEqual(await groupsOf(`/users/${user}`), [inner, middle, outer].sort())
      assert.deepEqual(await groupsOf(`/groups/${inner}`), [middle, outer].sort())
      assert.deepEqual(await groupsOf(`/groups/${outer}`), [])
    },
  )

  clause(
    'DIR-27',
    'The result of getMemberGroups is a JSON object with `@odata.context`, a string, and `value`, an array of strings.',
    async () => {
      const user = await directory.user()
      await directory.join(user, await directory.group())
      const { body } = await ask(`/users/${user}`)
      assert.deepEqual(Object.keys(body), ['@odata.context', 'value'])
      assert.equal(typeof body['@odata.context'], 'string')
      assert.equal(typeof body.value[0], 'string')
    },
  )

  clause(
    'DIR-28',
    'Each item of `value` is the identifier of a group or, when `securityEnabledOnly` is false, of a group or a directory role.',
    async () => {
      const [user, group, role] = [await directory.user(), await directory.group(), await directory.role()]
      await directory.join(user, group, role)
      assert.deepEqual(await groupsOf(`/users/${user}`, true), [group])
      assert.deepEqual(await groupsOf(`/users/${user}`, false), [group, role].sort())
    },
  )

  clause('DIR-32', 'getMemberGroups is a POST on one of these paths:', async () => {
    const group = await directory.group()
    const made: Record<string, string> = {
      'any directory object': await directory.contact(),
      'signed-in user': await directory.user(),
      user: await directory.user('by-both-keys'),
      group: await directory.group(),
      'service principal': await directory.servicePrincipal(),
      'organizational contact': await directory.contact(),
      device: await directory.device(),
    }
    for (const { Target = '', Path = '' } of tableRows('DIR-32')) {
      const id = made[Target]
      assert.ok(id, Target)
      await directory.join(id, group)
      const keys = Target === 'user' ? [id, 'by-both-keys@example.com', 'BY-both-keys@Example.com'] : [id]
      const token = service.tokenFor({
        permissions: ['Directory.Read.All'],
        ...(Target === 'signed-in user' && { principal: id }),
      })
      for (const key of keys) {
        const path = `/v1.0${Path.replaceAll('`', '').replace(/\{[^}]+\}/, key)}`
        const answer = await service.request('POST', path, { token, body: { securityEnabledOnly: false } })
        assert.equal(answer.status, 200, path)
        assert.deepEqual(answer.body.value, [group], path)
        const read = await service.request('GET', path, { token })
        assert.equal(read.status, 405, path)
      }
      // The object must be of the kind that the path says.
      if (Path.includes('{id') && Target !== 'any directory object')
        for (const [kind, other] of Object.entries(made)) {
          if (kind === Target || (Target === 'user' && kind === 'signed-in user')) continue
          if (Target === 'organizational contact' && kind === 'any directory object') continue
          const path = Path.replaceAll('`', '').replace(/\{[^}]+\}/, other)
          const answer = await ask(path.replace('/getMemberGroups', ''))
          assert.equal(answer.status, 404, `${kind} under ${Path}`)
        }
    }
  })

  clause(
    'DIR-33',
    'getMemberGroups needs the header `Authorization` with a Bearer token and takes `Content-Type` `application/json`.',
    async () => {
      const path = `/v1.0/users/${await directory.user()}/getMemberGroups`
      const body = { securityEnabledOnly: false }
      assert.equal((await service.request('POST', path, { body })).status, 401)
      const headers = { 'content-type': 'text/plain' }
      const plain = await service.request('POST', path, { token: reader, body, headers })
      assert.ok(plain.status === 400 || plain.status === 415)
      assert.equal((await service.request('POST', path, { token: reader, body })).status, 200)
    },
  )

  clause('DIR-34', 'The body of getMemberGroups has `securityEnabledOnly`, a Boolean.', async () => {
    const user = await directory.user()
    assert.equal((await ask(`/users/${user}`, true)).status, 200)
    assert.equal((await ask(`/users/${user}`, false)).status, 200)
    assert.equal((await ask(`/users/${user}`, 'true')).status, 400)
  })

  clause('DIR-35', '`securityEnabledOnly` true returns the security-enabled groups alone.', async () => {
    const user = await directory.user()
    const [secure, open] = [await directory.group(), await directory.unifiedGroup()]
    await directory.join(user, secure, open)
    assert.deepEqual(await groupsOf(`/users/${user}`, true), [secure])
  })

  clause(
    'DIR-36',
    '`securityEnabledOnly` true may be asked for users and service principals only.',
    async () => {
      assert.equal((await ask(`/users/${await directory.user()}`, true)).status, 200)
      assert.equal((await ask(`/servicePrincipals/${await directory.servicePrincipal()}`, true)).status, 200)
      for (const path of [
        `/groups/${await directory.group()}`,
        `/devices/${await directory.device()}`,
        `/contacts/${await directory.contact()}`,
      ])
        assert.equal((await ask(path, true)).status, 400, path)
    },
  )

  clause(
    'DIR-37',
    '`securityEnabledOnly` false returns all groups, and the directory roles as well.',
    async () => {
      const [user, group] = [await directory.user(), await directory.unifiedGroup()]
      const [direct, through] = [await directory.role(), await directory.role()]
      await directory.join(user, group, direct)
      await directory.join(group, through)
      assert.deepEqual(await groupsOf(`/users/${user}`), [group, direct, through].sort())
    },
  )

  clause('DIR-38', 'getMemberGroups succeeds with 200 and the result object.', async () => {
    const answer = await ask(`/users/${await directory.user()}`)
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.body.value, [])
  })

  clause(
    'DIR-90',
    'A path under `/me` called with an application token is 400 `BadRequest` with the message `/me request is only valid with delegated authentication flow.`',
    async () => {
      for (const permissions of [['Directory.Read.All'], []]) {
        const token = await service.tokenFor({ kind: 'application', permissions })
        const { status, body } = await ask('/me', false, token)
        assert.equal(status, 400)
        assert.equal(body.error.code, 'BadRequest')
        assert.equal(body.error.message, '/me request is only valid with delegated authentication flow.')
      }
    },
  )

  clause(
    'DIR-98',
    'getMemberGroups that would return more than 11,000 identifiers is 400 `Directory_ResultSizeLimitExceeded`.',
    async () => {
      const user = await directory.user()
      await service.database.transaction(async (tx) => {
        await tx`set local statement_timeout = 0`
        await tx`
        with made as (
          insert into directory_object (tenant_id, id, kind, properties)
          select ${service.tenantId}, gen_random_uuid(), 'group', '{"displayName":"many"}'
          from generate_series(1, 11000) returning tenant_id, id
        )
        insert into member_edge (tenant_id, container_id, member_id) select tenant_id, id, ${user} from made`
      })
      const most = await ask(`/users/${user}`)
      assert.equal(most.status, 200, most.text)
      assert.equal(new Set(most.body.value).size, 11_000)
      await directory.join(user, await directory.group())
      const { status, body } = await ask(`/users/${user}`)
      assert.equal(status, 400)
      assert.equal(body.error.code, 'Directory_ResultSizeLimitExceeded')
      assert.equal((await ask(`/users/${user}`, true)).body.value.length, 1)
    },
  )
})
