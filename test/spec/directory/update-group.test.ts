import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
import { clause, permissionTable } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('update group', () => {
  let service: TestService
  let directory: TestDirectory
  let admin: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    admin = await service.tokenFor({ permissions: ['Group.ReadWrite.All'] })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const patch = (id: string, body: unknown, token = admin, headers: Record<string, string> = {}) =>
    service.request('PATCH', `/v1.0/groups/${id}`, { token, body, headers })

  async function stored(id: string): Promise<Record<string, unknown>> {
    const [row] = await service.database.sql<{ properties: Record<string, unknown> }[]>`
      select properties from directory_object where id = ${id}`
    assert.ok(row)
    return row.properties
  }

  async function refuses(id: string, property: string, values: unknown[]): Promise<void> {
    const before = await stored(id)
    for (const value of values) {
      const { status, body } = await patch(id, { [property]: value })
      assert.equal(status, 400, `${property} ${JSON.stringify(value)}`)
      assert.equal(body.error.code, 'Request_BadRequest')
      assert.ok(body.error.message.includes(`'${property}'`), body.error.message)
    }
    assert.deepEqual(await stored(id), before)
  }

  async function accepts(id: string, property: string, values: unknown[], token = admin): Promise<void> {
    for (const value of values) {
      const { status } = await patch(id, { [property]: value }, token)
      assert.equal(status, 204, `${property} ${JSON.stringify(value)}`)
      assert.deepEqual((await stored(id))[property] ?? null, value)
    }
  }

  const notBoolean = ['true', 0, 1, null, [], {}]
  const notString = [true, 7, [], {}, ['x']]

  clause('DIR-07', 'One operation updates properties of a group.', async () => {
    const id = await directory.group()
    assert.equal((await patch(id, { displayName: 'Renamed', description: 'Told' })).status, 204)
    const { displayName, description } = await stored(id)
    assert.deepEqual([displayName, description], ['Renamed', 'Told'])
  })

  clause(
    'DIR-10',
    '`assignedLabels` is an array of sensitivity labels of a unified group, each a pair of label id and label name.',
    async () => {
      const id = await directory.unifiedGroup()
      const label = { labelId: randomUUID(), displayName: 'Secret' }
      await accepts(id, 'assignedLabels', [[label], [], [label, { labelId: randomUUID(), displayName: 'x' }]])
      await refuses(id, 'assignedLabels', [
        'Secret',
        [label.labelId],
        [{ ...label, more: 1 }],
        [{ displayName: 'Secret' }],
        [{ ...label, labelId: 7 }],
        [null],
        label,
      ])
      await refuses(await directory.group(), 'assignedLabels', [[label]])
      const both = await patch(await directory.group(), { assignedLabels: [label], groupTypes: ['Unified'] })
      assert.equal(both.status, 204)
      assert.equal((await patch(id, { assignedLabels: [label] })).status, 204)
      assert.equal((await patch(id, { groupTypes: [] })).status, 204)
      assert.equal('assignedLabels' in (await stored(id)), false, 'no labels without a unified group')
    },
  )

  clause('DIR-13', '`description` is a string and optional.', async () => {
    const id = await directory.group({ description: 'old' })
    await accepts(id, 'description', ['new', 'ünïcödé 🎭', null, ''])
    assert.equal((await patch(id, { description: null })).status, 204)
    assert.equal('description' in (await stored(id)), false)
    await refuses(id, 'description', [...notString, 'x'.repeat(1025), 'nul \u0000', '\ud800'])
  })

  clause('DIR-15', 'An update cannot clear `displayName`.', async () => {
    const id = await directory.group({ displayName: 'Kept' })
    await refuses(id, 'displayName', [null, '', ' ', '\t\n', '\u00a0', ...notString, 'x'.repeat(257)])
    await accepts(id, 'displayName', ['Changed', 'x'.repeat(256)])
  })

  clause(
    'DIR-16',
    '`mailNickname` is a string, the mail alias of the group, and unique among the unified groups of the organization.',
    async () => {
      const [one, two, secure] = [
        await directory.unifiedGroup({ mailNickname: 'Taken' }),
        await directory.unifiedGroup(),
        await directory.group(),
      ]
      for (const nickname of ['Taken', 'taken', 'TAKEN']) {
        const { status, body } = await patch(two, { mailNickname: nickname })
        assert.equal(status, 400)
        assert.match(body.error.message, /mailNickname/)
      }
      await accepts(secure, 'mailNickname', ['taken'])
      assert.equal((await patch(secure, { groupTypes: ['Unified'] })).status, 400, 'it would be one more')
      await accepts(one, 'mailNickname', ['taken', 'free'])
      await accepts(two, 'mailNickname', ['Taken'])
      await refuses(one, 'mailNickname', [null, ...notString])
    },
  )

  clause('DIR-17', '`mailNickname` has at most 64 characters.', async () => {
    const id = await directory.group()
    await refuses(id, 'mailNickname', ['x'.repeat(65), 'x'.repeat(1000)])
    await accepts(id, 'mailNickname', ['x'.repeat(64), 'x'])
  })

  clause(
    'DIR-18',
    '`mailNickname` consists of ASCII characters (0 to 127) without any of `@`, `(`, `)`, `\\`, `[`, `]`, `"`, `;`, `:`, `.`, `<`, `>`, `,` and space.',
    async () => {
      const id = await directory.group()
      const excluded = [...'@()\\[]";:.<>, ']
      await refuses(id, 'mailNickname', ['', 'é', 'x\u0080', '名', ...excluded.map((one) => `a${one}b`)])
      const allowed = Array.from({ length: 127 - 33 + 1 }, (_, at) => String.fromCharCode(33 + at)).filter(
        (one) => !excluded.includes(one),
      )
      await accepts(id, 'mailNickname', [
        allowed.slice(0, 64).join(''),
        allowed.slice(64).join(''),
        "o'neil!",
      ])
    },
  )

  clause(
    'DIR-20',
    'Only a caller who holds one of certain directory roles can update `preferredDataLocation`.',
    async () => {
      const id = await directory.unifiedGroup()
      assert.equal((await patch(id, { preferredDataLocation: 'EUR' })).status, 403)
      assert.equal((await stored(id)).preferredDataLocation, undefined)
      const directoryRoles = [directoryRoleTemplates['User Administrator']]
      const token = await service.tokenFor({ permissions: ['Group.ReadWrite.All'], directoryRoles })
      await accepts(id, 'preferredDataLocation', ['EUR', null], token)
    },
  )

  clause(
    'DIR-126',
    'The directory roles of DIR-20 are User Administrator, Directory Writers, Exchange Administrator and SharePoint Administrator; a caller who holds none of them, or comes without a delegated token, is answered 403.',
    async () => {
      const id = await directory.unifiedGroup()
      const permissions = ['Group.ReadWrite.All']
      const allowed = [
        'User Administrator',
        'Directory Writers',
        'Exchange Administrator',
        'SharePoint Administrator',
      ]
      for (const [name, template] of Object.entries(directoryRoleTemplates)) {
        const token = await service.tokenFor({ permissions, directoryRoles: [template] })
        const { status } = await patch(id, { preferredDataLocation: 'EUR' }, token)
        assert.equal(status, allowed.includes(name) ? 204 : 403, name)
        const application = await service.tokenFor({
          kind: 'application',
          permissions,
          directoryRoles: [template],
        })
        assert.equal((await patch(id, { preferredDataLocation: 'EUR' }, application)).status, 403)
      }
      for (const role of allowed) assert.ok(role in directoryRoleTemplates, role)
    },
  )

  clause(
    'DIR-19',
    '`preferredDataLocation` is a string: the preferred data location of a unified group.',
    async () => {
      const id = await directory.unifiedGroup()
      const directoryRoles = [directoryRoleTemplates['Directory Writers']]
      const token = await service.tokenFor({ permissions: ['Group.ReadWrite.All'], directoryRoles })
      await accepts(id, 'preferredDataLocation', ['EUR', 'NAM'], token)
      for (const value of notString)
        assert.equal((await patch(id, { preferredDataLocation: value }, token)).status, 400)
    },
  )

  clause('DIR-21', '`securityEnabled` is a Boolean: whether the group is a security group.', async () => {
    const id = await directory.group()
    await accepts(id, 'securityEnabled', [false, true])
    await refuses(id, 'securityEnabled', notBoolean)
    const user = await directory.user()
    await directory.join(user, id)
    const reader = await service.tokenFor({ permissions: ['Directory.Read.All'] })
    const secureGroups = async () => {
      const path = `/v1.0/users/${user}/getMemberGroups`
      const { body } = await service.request('POST', path, {
        token: reader,
        body: { securityEnabledOnly: true },
      })
      return body.value
    }
    assert.deepEqual(await secureGroups(), [id])
    await accepts(id, 'securityEnabled', [false])
    assert.deepEqual(await secureGroups(), [])
    await refuses(await directory.group({ isAssignableToRole: true }), 'securityEnabled', [false])
  })

  clause(
    'DIR-22',
    '`visibility` of a unified group is `Private`, `Public` or empty, and empty means the same as `Public`…',
    async () => {
      const plain = await directory.group()
      await refuses(plain, 'visibility', ['Private', 'Public'])
      await accepts(plain, 'visibility', ['', null])
      const id = await directory.unifiedGroup()
      await accepts(id, 'visibility', ['Private', 'Public', '', null])
      await refuses(id, 'visibility', ['private', 'HiddenMembership', 'Secret', ...notString])
    },
  )

  clause(
    'DIR-23',
    '`groupTypes` is an array of strings and can be updated; a group with the value `Unified` in it is a unified group…',
    async () => {
      const id = await directory.group()
      await accepts(id, 'groupTypes', [['Unified'], [], ['Unified']])
      assert.equal((await patch(id, { groupTypes: ['Unified', 'Unified'] })).status, 204)
      assert.deepEqual((await stored(id)).groupTypes, ['Unified'])
      await accepts(id, 'visibility', ['Private'])
      assert.equal((await patch(id, { groupTypes: [] })).status, 204)
      assert.equal((await stored(id)).visibility, undefined)
      assert.equal((await patch(id, { groupTypes: ['Unified'] })).status, 204)
      const label = [{ labelId: randomUUID(), displayName: 'x' }]
      await accepts(id, 'assignedLabels', [label])
      await refuses(id, 'groupTypes', [null, 'Unified', [7], ['Strange'], [null], {}, ['DynamicMembership']])
    },
  )

  clause('DIR-24', '`mailEnabled` is a Boolean and can be updated.', async () => {
    const id = await directory.group()
    await accepts(id, 'mailEnabled', [true, false])
    await refuses(id, 'mailEnabled', notBoolean)
  })

  clause(
    'DIR-54',
    'A group is updated by PATCH `/groups/{id}` with the header `Authorization` and a Bearer token…',
    async () => {
      const id = await directory.group()
      const path = `/v1.0/groups/${id}`
      const body = { description: 'x' }
      assert.equal((await service.request('PATCH', path, { body })).status, 401)
      assert.equal((await service.request('PUT', path, { token: admin, body })).status, 405)
      assert.equal((await service.request('PATCH', path, { token: admin, body })).status, 204)
      assert.equal((await patch(randomUUID(), body)).status, 404)
      assert.equal((await patch(await directory.user(), body)).status, 404)
      for (const form of [`/v1.0/groups('${id}')`, `/v1.0/groups(id='${id}')`])
        assert.equal((await service.request('PATCH', form, { token: admin, body })).status, 204, form)
      const untyped = { method: 'PATCH', headers: { authorization: `Bearer ${admin}` } }
      const sent = Buffer.from(JSON.stringify({ description: 'no type' }))
      assert.equal((await fetch(service.origin + path, { ...untyped, body: sent })).status, 204)
      assert.equal((await stored(id)).description, 'no type')
      const faulty = await fetch(service.origin + path, { ...untyped, body: Buffer.from('{') })
      assert.equal(faulty.status, 400)
    },
  )

  clause('DIR-70', 'Update group is permitted by:', async () => {
    const id = await directory.group()
    for (const { subject, ...row } of permissionTable('DIR-70')) {
      assert.equal(subject, 'group')
      for (const kind of ['delegated', 'application'] as const)
        for (const permissions of row[kind]) {
          const token = await service.tokenFor({ kind, permissions })
          assert.equal((await patch(id, { description: `${kind}` }, token)).status, 204)
        }
      const personal = await service.tokenFor({ permissions: ['Group.ReadWrite.All'], personal: true })
      assert.equal((await patch(id, { description: 'x' }, personal)).status, 403)
    }
  })

  clause(
    'DIR-107',
    'Where a table does not say least privilege (DIR-66 and DIR-70), it is exact: a permission that it does not list does not help.',
    async () => {
      const id = await directory.group()
      for (const permissions of [
        [],
        ['Group.Read.All'],
        ['GroupMember.ReadWrite.All'],
        ['GroupMember.ReadWrite.All', 'User.ReadWrite.All'],
        ['Directory.Read.All'],
        ['Directory.AccessAsUser.All'],
        ['RoleManagement.ReadWrite.Directory'],
        ['group.readwrite.all'],
      ]) {
        const token = await service.tokenFor({ permissions })
        for (const target of [id, randomUUID()])
          for (const body of [{ description: 'x' }, {}, { nonsense: 1 }]) {
            const answer = await patch(target, body, token)
            assert.equal(answer.status, 403, `${permissions}`)
          }
      }
    },
  )
})
