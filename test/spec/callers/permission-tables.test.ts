import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { impliedPermissions, withImplied } from '../../../src/auth/implied-permissions.ts'
import { type Alternatives, clause, permissionTable, tableRows } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import type { TokenRequest } from '../../support/tokens.ts'

type Kind = 'delegated' | 'personal' | 'application'
type Ask = (token: string) => Promise<number>

const kinds: readonly Kind[] = ['delegated', 'personal', 'application']
const otherKinds: Record<Kind, readonly Kind[]> = {
  delegated: ['personal', 'application'],
  personal: ['delegated', 'application'],
  application: ['delegated', 'personal'],
}

describe('every cell of the permission tables, over HTTP', () => {
  let service: TestService
  let directory: TestDirectory
  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
  })
  after(() => service[Symbol.asyncDispose]())

  const requestOf: Record<Kind, TokenRequest> = {
    delegated: { kind: 'delegated' },
    personal: { kind: 'delegated', personal: true },
    application: { kind: 'application' },
  }
  const tokenOf = (kind: Kind, permissions: readonly string[]) =>
    service.tokenFor({ ...requestOf[kind], permissions })

  const ask = (method: string, path: string, body?: unknown): Ask => {
    return async (token) =>
      (await service.request(method, `/v1.0${path}`, { token, ...(body !== undefined && { body }) })).status
  }
  const isLetIn = (status: number) => status !== 401 && status !== 403

  /** Alternatives are accepted whole and by their kind of token only; each is needed whole. */
  async function walk(row: Record<Kind, Alternatives>, makeAsk: () => Promise<Ask>, isExact: boolean) {
    const accepts = (kind: Kind, held: readonly string[]) => {
      const all: ReadonlySet<string> = isExact ? new Set(held) : withImplied(held)
      return row[kind].some((alternative) => alternative.every((name) => all.has(name)))
    }
    const check = async (kind: Kind, held: readonly string[]) => {
      const status = await (await makeAsk())(tokenOf(kind, held))
      const label = `${kind} with '${held.join(' ')}' got ${status}`
      if (accepts(kind, held)) assert.ok(isLetIn(status), label)
      else assert.equal(status, 403, label)
    }
    for (const kind of kinds) {
      await check(kind, [])
      await check(kind, ['User.Read'])
      for (const alternative of row[kind]) {
        assert.ok(accepts(kind, alternative))
        await check(kind, alternative)
        for (const missing of alternative) {
          const rest = alternative.filter((name) => name !== missing)
          assert.ok(!accepts(kind, rest), `${missing} is implied by ${rest}, beside which it is asked for`)
          await check(kind, rest)
        }
        for (const other of otherKinds[kind]) await check(other, alternative)
      }
    }
  }

  clause('DIR-64', 'Named permissions govern access: in the tables a comma or a vertical bar…', async (t) => {
    const paths: Record<string, string> = Object.fromEntries(
      tableRows('DIR-32').map(({ Target = '', Path = '' }) => [Target, Path.replaceAll('`', '')]),
    )
    paths['directory object'] = paths['any directory object'] ?? ''
    const made: Record<string, string> = {
      'directory object': await directory.user(),
      user: await directory.user(),
      group: await directory.group(),
      'service principal': await directory.servicePrincipal(),
      'organizational contact': await directory.contact(),
      device: await directory.device(),
    }
    for (const { subject, ...row } of permissionTable('DIR-66'))
      await t.test(`getMemberGroups of a ${subject}`, async () => {
        const path = paths[subject]?.replace(/\{[^}]*\}/, made[subject] ?? '')
        assert.ok(path?.includes(made[subject] ?? '?'), subject)
        await walk(row, async () => ask('POST', path ?? '', { securityEnabledOnly: false }), true)
      })
  })

  clause('DIR-67', 'Delete open extension is permitted, as the least privilege, by:', async (t) => {
    const paths = tableRows('DIR-39').map(({ Path = '', Resource = '' }) => ({ Path, Resource }))
    for (const { subject, ...row } of permissionTable('DIR-67')) {
      const own = paths.filter(({ Resource }) => Resource === subject)
      assert.ok(own.length > 0, `no path leads to a ${subject}`)
      for (const { Path } of own)
        await t.test(Path, async () => {
          // Without permission over all users, a person reaches only their own things.
          const path = Path.replaceAll('`', '')
            .replace(/^\/users\/\{[^}]*\}/, `/users/${service.tokens.shared.user}`)
            .replaceAll(/\{[^}]*\}/g, () => randomUUID())
          const isMe = path.startsWith('/me/')
          await walk(
            // Under /me there is nobody without a person: 400 comes before any permission.
            isMe ? { ...row, application: [] } : row,
            async () => {
              const send = ask('DELETE', path)
              return async (token) => {
                const status = await send(token)
                const isApplication = JSON.parse(atob(token.split('.')[1] ?? '')).idtyp === 'app'
                if (!isMe || !isApplication) return status
                assert.equal(status, 400)
                return 403
              }
            },
            false,
          )
        })
    }
  })

  test('DIR-68, over HTTP with a member of each type', async (t) => {
    const makeMember: Record<string, () => Promise<string>> = {
      device: () => directory.device(),
      group: () => directory.group(),
      orgContact: () => directory.contact(),
      servicePrincipal: () => directory.servicePrincipal(),
      user: () => directory.user(),
    }
    for (const { subject, ...row } of permissionTable('DIR-68'))
      for (const form of ['one', 'several'] as const)
        await t.test(`${form} of type ${subject}`, async () => {
          const make = makeMember[subject]
          assert.ok(make, subject)
          await walk(
            row,
            async () => {
              const [group, member] = [await directory.group(), await make()]
              const url = `${service.origin}/v1.0/directoryObjects/${member}`
              return form === 'one'
                ? ask('POST', `/groups/${group}/members/$ref`, { '@odata.id': url })
                : ask('PATCH', `/groups/${group}`, { 'members@odata.bind': [url] })
            },
            false,
          )
        })
  })

  test('DIR-70, over HTTP', async () => {
    const group = await directory.group()
    const [row] = permissionTable('DIR-70')
    assert.ok(row)
    await walk(row, async () => ask('PATCH', `/groups/${group}`, { description: 'x' }), true)
  })

  clause(
    'DIR-65',
    'A delegated token of a personal account is `Not supported`, unless a table shows otherwise.',
    async () => {
      const everything = [...new Set([...Object.keys(impliedPermissions), 'Directory.AccessAsUser.All'])]
      const token = tokenOf('personal', everything)
      const [user, group] = [await directory.user(), await directory.group()]
      for (const send of [
        ask('POST', '/me/getMemberGroups', { securityEnabledOnly: true }),
        ask('POST', `/users/${user}/getMemberGroups`, { securityEnabledOnly: true }),
        ask('PATCH', `/groups/${group}`, { description: 'x' }),
        ask('DELETE', `/groups/${group}/extensions/x`),
        ask('GET', '/users'),
        ask('GET', '/organization'),
      ])
        assert.equal(await send(token), 403)
      assert.equal(await ask('DELETE', '/me/extensions/x')(token), 404, 'the table shows otherwise')
    },
  )

  clause('DIR-103', 'A token with `scp` is delegated.', async () => {
    const token = service.tokens.signToken({
      ...service.tokens.claimsFor({ permissions: ['Directory.Read.All'] }),
      idtyp: undefined,
      roles: ['Group.ReadWrite.All'],
    })
    assert.equal(await ask('POST', '/me/getMemberGroups', { securityEnabledOnly: true })(token), 200)
    const group = await directory.group()
    assert.equal(
      await ask('PATCH', `/groups/${group}`, { description: 'x' })(token),
      403,
      'roles do not count',
    )
  })

  clause(
    'DIR-104',
    'A token with `roles` and without `scp`, or with `idtyp` `app`, is an application token.',
    async () => {
      const claims = service.tokens.claimsFor({ kind: 'application', permissions: ['Directory.Read.All'] })
      for (const form of [
        { ...claims, idtyp: undefined },
        { ...claims, idtyp: 'app' },
      ]) {
        const token = service.tokens.signToken(form)
        assert.equal(await ask('POST', '/me/getMemberGroups', { securityEnabledOnly: true })(token), 400)
        assert.equal(await ask('GET', '/users')(token), 200)
      }
      const bare = service.tokens.signToken({ ...claims, roles: undefined })
      assert.equal(await ask('GET', '/users')(bare), 403, 'an application without any permission')
    },
  )

  clause(
    'DIR-105',
    'A delegated token whose `tid` is the consumer tenant belongs to a personal account…',
    async () => {
      const token = tokenOf('personal', ['Directory.Read.All'])
      assert.equal(await ask('POST', '/me/getMemberGroups', { securityEnabledOnly: true })(token), 403)
    },
  )

  clause(
    'DIR-106',
    'Where a table gives the least privilege (DIR-67 and DIR-68), stronger permissions count…',
    async () => {
      const [group, user] = [await directory.group(), await directory.user()]
      const strong = tokenOf('delegated', ['Directory.ReadWrite.All'])
      const url = `${service.origin}/v1.0/directoryObjects/${user}`
      assert.equal(await ask('POST', `/groups/${group}/members/$ref`, { '@odata.id': url })(strong), 204)
      assert.equal(await ask('DELETE', `/groups/${group}/extensions/x`)(strong), 404)
      const add = (id: string) =>
        ask('POST', `/groups/${group}/members/%24ref`, {
          '@odata.id': `${service.origin}/v1.0/directoryObjects/${id}`,
        })
      const [other, inner] = [await directory.user(), await directory.group()]
      for (const kind of ['delegated', 'application'] as const) {
        assert.equal(await add(inner)(tokenOf(kind, ['Group.ReadWrite.All'])), 403, 'the row asks for both')
        assert.equal(await add(other)(tokenOf(kind, ['Group.ReadWrite.All'])), 403, 'one of two')
      }
      const instead = tokenOf('application', ['Group.ReadWrite.All', 'User.ReadWrite.All'])
      assert.equal(await add(other)(instead), 204)
      assert.equal(
        await ask('DELETE', `/devices/${randomUUID()}/extensions/x`)(strong),
        403,
        'not in the table',
      )
    },
  )

  clause(
    'DIR-107',
    'Where a table does not say least privilege (DIR-66 and DIR-70), it is exact…',
    async () => {
      const user = await directory.user()
      for (const kind of ['delegated', 'application'] as const) {
        const send = ask('POST', `/users/${user}/getMemberGroups`, { securityEnabledOnly: true })
        assert.equal(await send(tokenOf(kind, ['Directory.ReadWrite.All'])), 403)
        assert.equal(await send(tokenOf(kind, ['Directory.Read.All'])), 200)
      }
    },
  )
})
