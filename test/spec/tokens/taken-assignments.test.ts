import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { exchangedTokensClaim } from '../../../src/auth/token-claims.ts'
import { listenTo } from '../../../src/db/listen.ts'
import { noRoleId } from '../../../src/directory/app-roles/app-roles.ts'
import { caller } from '../../support/call.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { askDuring } from '../../support/in-flight.ts'
import { addApplication, addPerson } from '../../support/issuer.ts'
import { startNodesThatHear } from '../../support/other-node.ts'
import type { TestService } from '../../support/service.ts'
import { issuedNow } from '../../support/tokens.ts'
import { waitUntil } from '../../support/wait-until.ts'

const rule =
  'An access token of a person through a client that requires assignments (DIR-273) ends with the last assignment of the person: …'

describe('tokens of people without an assignment', () => {
  let service: TestService
  let other: TestService
  let directory: TestDirectory

  before(async () => {
    ;[service, other] = await startNodesThatHear()
    directory = fillDirectory(service)
  })
  after(async () => {
    await other?.[Symbol.asyncDispose]()
    await service?.[Symbol.asyncDispose]()
  })

  const administer = caller(
    () => service,
    () => service.tokenFor({ kind: 'application', permissions: Object.keys(knownPermissions) }),
  )
  const require = (id: string, appRoleAssignmentRequired: boolean) =>
    administer('PATCH', `/servicePrincipals/${id}`, 204, { appRoleAssignmentRequired })
  const addClient = async () => {
    const made = await addApplication(service, { consented: ['User.ReadWrite', 'Directory.Read.All'] })
    await require(made.servicePrincipalId, true)
    return { ...made, id: made.servicePrincipalId }
  }
  type Client = Awaited<ReturnType<typeof addClient>>
  const assign = async (set: 'users' | 'groups', principalId: string, { id: resourceId }: Client) => {
    const path = `/${set}/${principalId}/appRoleAssignments`
    const made = await administer('POST', path, 201, { principalId, resourceId, appRoleId: noRoleId })
    return `${path}/${made.body.id}`
  }
  const tokenOf = (principal: string, applicationId?: string, more: object = {}) => {
    const { claimsFor, signToken } = service.tokens
    const permissions = ['User.ReadWrite', 'Directory.Read.All']
    const claims = claimsFor({ principal, permissions, ...(applicationId && { applicationId }) })
    return signToken({ ...claims, ...issuedNow(), ...more })
  }
  const statusOf = async (token: string, node: TestService) =>
    (await node.request('GET', '/v1.0/users?$top=1', { token })).status
  const goesOn = async (token: string, what: string) => {
    for (const node of [service, other]) assert.equal(await statusOf(token, node), 200, what)
  }
  const becomes = (status: number, token: string, what: string) =>
    waitUntil(
      what,
      async () => (await statusOf(token, service)) === status && (await statusOf(token, other)) === status,
    )
  /** Its token, one that was exchanged for it, and the same person's through another client. */
  const tokensOf = async (person: string, { appId }: Client) => {
    const passed = { [exchangedTokensClaim]: [{ appid: appId, ...issuedNow() }] }
    return { gated: [tokenOf(person, appId), tokenOf(person, undefined, passed)], free: tokenOf(person) }
  }

  clause('TOK-178', rule, async () => {
    const [client, person] = [await addClient(), await addPerson(service)]
    const bystander = await addPerson(service)
    const assignment = await assign('users', person.id, client)
    await assign('users', bystander.id, client)
    const { gated, free } = await tokensOf(person.id, client)
    const theirs = tokenOf(bystander.id, client.appId)
    for (const token of [...gated, free, theirs]) await goesOn(token, 'before')
    await administer('DELETE', assignment, 204)
    for (const token of gated) await becomes(401, token, 'the assignment was deleted')
    for (const token of [free, theirs]) await goesOn(token, 'of another client, of another person')
    await assign('users', person.id, client)
    for (const token of gated) await becomes(200, token, 'assigned again')
  })

  clause('TOK-178', rule, async (t) => {
    t.diagnostic('through groups')
    const [client, person] = [await addClient(), await addPerson(service)]
    const groups = [await directory.group(), await directory.group(), await directory.group()]
    const [inner = '', middle = '', outer = ''] = groups
    await directory.join(person.id, inner)
    await directory.join(inner, middle)
    await directory.join(middle, outer)
    await assign('groups', outer, client)
    const { gated, free } = await tokensOf(person.id, client)
    for (const token of [...gated, free]) await goesOn(token, 'before')
    for (const [member, group] of [
      [person.id, inner],
      [middle, outer],
    ]) {
      await administer('DELETE', `/groups/${group}/members/${member}/$ref`, 204)
      for (const token of gated) await becomes(401, token, 'one left the group')
      await goesOn(free, 'through another client')
      const reference = { '@odata.id': `https://x/v1.0/directoryObjects/${member}` }
      await administer('POST', `/groups/${group}/members/$ref`, 204, reference)
      for (const token of gated) await becomes(200, token, 'a member again')
    }
    for (const group of [middle, outer]) {
      await administer('DELETE', `/groups/${group}`, 204)
      for (const token of gated) await becomes(401, token, 'a group was deleted')
      await administer('POST', `/directory/deletedItems/${group}/restore`, 200)
      for (const token of gated) await becomes(200, token, 'the group is back')
    }
    await service.database.sql`delete from directory_object where id = ${middle}`
    for (const token of gated) await becomes(401, token, 'a group was removed for good')
  })

  clause('TOK-178', rule, async (t) => {
    t.diagnostic('a client that comes to require assignments')
    const client = await addClient()
    await require(client.id, false)
    const [person, assigned] = [await addPerson(service), await addPerson(service)]
    await assign('users', assigned.id, client)
    const { gated, free } = await tokensOf(person.id, client)
    const theirs = tokenOf(assigned.id, client.appId)
    for (const token of [...gated, free, theirs]) await goesOn(token, 'before')
    await require(client.id, true)
    for (const token of gated) await becomes(401, token, 'assignments are required')
    for (const token of [free, theirs])
      await goesOn(token, 'of another client, of a person with an assignment')
    const application = service.tokenFor({
      kind: 'application',
      applicationId: client.appId,
      principal: client.id,
      permissions: ['User.Read.All'],
    })
    await goesOn(application, 'an application needs no assignment to itself')
  })

  clause(
    'TOK-180',
    'Nodes hear of assignments, and of members and groups on the way to one, only where the client requires assignments: …',
    async () => {
      let [heard, marks] = [0, 0]
      const listening = await listenTo(service.store.address, ['masquerade_revocations', 'mark'], {
        onNotification: (channel) => (channel === 'mark' ? marks++ : heard++),
      })
      /** How many notifications a change sends. They arrive in the order of commits, so before a later mark. */
      const countFor = async (change: () => Promise<unknown>) => {
        const [before, mark] = [heard, marks]
        await change()
        await service.database.sql`select pg_notify('mark', '')`
        await waitUntil('the mark is heard', () => marks > mark)
        return heard - before
      }
      try {
        const [client, person] = [await addClient(), await addPerson(service)]
        const [inner, outer] = [await directory.group(), await directory.group()]
        await directory.join(inner, outer)
        const reference = { '@odata.id': `https://x/v1.0/directoryObjects/${person.id}` }
        const members = `/groups/${inner}/members`
        const countAll = async () => {
          const paths: string[] = []
          const assignBoth = async () => {
            paths.push(await assign('users', person.id, client), await assign('groups', outer, client))
          }
          const changes = [
            assignBoth,
            () => administer('POST', `${members}/$ref`, 204, reference),
            () => administer('DELETE', `/groups/${outer}`, 204),
            () => administer('POST', `/directory/deletedItems/${outer}/restore`, 200),
            () => administer('DELETE', `${members}/${person.id}/$ref`, 204),
            async () => {
              for (const path of paths) await administer('DELETE', path, 204)
            },
          ]
          const counts: number[] = []
          for (const change of changes) counts.push(await countFor(change))
          return counts
        }
        assert.deepEqual(await countAll(), [2, 1, 1, 1, 1, 2], 'required')
        assert.equal(await countFor(() => require(client.id, false)), 1)
        assert.deepEqual(await countAll(), [0, 0, 0, 0, 0, 0], 'not required')
        const assignment = await assign('users', person.id, client)
        assert.equal(await countFor(() => require(client.id, true)), 1, 'it comes to be required')

        await require(client.id, false)
        const permissions = ['AppRoleAssignment.ReadWrite.All']
        const token = service.tokenFor({ kind: 'application', permissions })
        const remove = () => service.request('DELETE', `/v1.0${assignment}`, { token })
        const setting = { appRoleAssignmentRequired: true }
        const counted = await countFor(async () => {
          const removed = await askDuring(
            service,
            (tx) => tx`
              update directory_object set properties = properties || ${tx.json(setting)} where id = ${client.id}`,
            remove,
          )
          assert.equal(removed.status, 204, removed.text)
        })
        assert.equal(counted, 2, 'a removal that waits until assignments are required')
      } finally {
        await listening.close()
      }
    },
  )

  clause(
    'TOK-179',
    'A write that is under way while the assignment of its person ends is refused with 403, as by DIR-340.',
    async () => {
      const [client, person] = [await addClient(), await addPerson(service)]
      const group = await directory.group()
      await directory.join(person.id, group)
      await assign('groups', group, client)
      const token = tokenOf(person.id, client.appId)
      const write = () => service.request('PATCH', '/v1.0/me', { token, body: { aboutMe: 'Late' } })
      const refused = await askDuring(
        service,
        async (tx) => {
          await tx`delete from member_edge where container_id = ${group}`
          await tx`select from directory_object where id = ${person.id} for update`
        },
        write,
      )
      assert.equal(refused.status, 403, refused.text)
      const [row] = await service.database.sql<{ text: string | null }[]>`
        select properties ->> 'aboutMe' as text from directory_object where id = ${person.id}`
      assert.equal(row?.text, null)
    },
  )
})
