import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { createSqlGraph } from '../../../src/directory/membership/sql-graph.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { runs } from '../../support/runs.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const groupCount = 6
const userCount = 3
const nodeCount = groupCount + userCount

/** Edges as pairs `member>container` of positions; groups come first, then users. */
class NaiveModel {
  readonly edges = new Set<string>()

  containersOf(member: number): number[] {
    return [...this.edges]
      .filter((edge) => edge.startsWith(`${member}>`))
      .map((edge) => Number(edge.split('>')[1]))
  }

  /** Distances from the member to every group above it, by trying all ways of growing length. */
  distancesFrom(member: number): Map<number, number> {
    const distances = new Map<number, number>()
    let reached = new Set([member])
    for (let length = 1; length <= nodeCount; length++) {
      reached = new Set([...reached].flatMap((one) => this.containersOf(one)))
      for (const one of reached) if (!distances.has(one) && one !== member) distances.set(one, length)
    }
    return distances
  }

  groupsOf(member: number): number[] {
    return [...this.distancesFrom(member).keys()]
  }

  membersOf(group: number): number[] {
    return Array.from({ length: nodeCount }, (_, at) => at).filter(
      (member) => member !== group && this.distancesFrom(member).has(group),
    )
  }
}

interface Step {
  readonly adds: boolean
  readonly member: number
  readonly container: number
}

const step: fc.Arbitrary<Step> = fc.record({
  adds: fc.integer({ min: 0, max: 3 }).map((one) => one > 0),
  member: fc.nat(nodeCount - 1),
  container: fc.nat(groupCount - 1),
})

describe('membership against a naive model', () => {
  let service: TestService
  let directory: TestDirectory
  let token: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    token = await service.tokenFor({
      permissions: [
        'GroupMember.ReadWrite.All',
        'User.ReadWrite.All',
        'Group.ReadWrite.All',
        'Directory.Read.All',
      ],
    })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const send = (method: string, path: string, body?: unknown) =>
    service.request(method, `/v1.0${path}`, { token, ...(body !== undefined && { body }) })

  async function take({ adds, member, container }: Step, ids: readonly string[], model: NaiveModel) {
    const edge = `${member}>${container}`
    const members = `/groups/${ids[container]}/members`
    if (adds) {
      const expected = member === container || model.edges.has(edge) ? 400 : 204
      const url = `${service.origin}/v1.0/directoryObjects/${ids[member]}`
      assert.equal((await send('POST', `${members}/$ref`, { '@odata.id': url })).status, expected)
      if (member !== container) model.edges.add(edge)
    } else {
      const expected = model.edges.delete(edge) ? 204 : 404
      assert.equal((await send('DELETE', `${members}/${ids[member]}/$ref`)).status, expected)
    }
  }

  async function compare(ids: readonly string[], model: NaiveModel): Promise<void> {
    const named = (positions: number[]) => positions.map((at) => ids[at] ?? '').toSorted()
    const compareOne = async (id: string, at: number) => {
      const path = `/directoryObjects/${id}`
      const groups = await send('POST', `${path}/getMemberGroups`, { securityEnabledOnly: false })
      assert.deepEqual(groups.body.value.toSorted(), named(model.groupsOf(at)))
      if (at < groupCount) {
        const { body } = await send('GET', `/groups/${id}/transitiveMembers?$select=id`)
        const members = body.value.map((one: { id: string }) => one.id)
        assert.deepEqual(members.toSorted(), named(model.membersOf(at)))
        const asked = await createSqlGraph(service.database.sql).membersOf(service.tenantId, id)
        assert.deepEqual(asked.toSorted(), named(model.membersOf(at)))
      }
      const distances = model.distancesFrom(at)
      for (let group = at % 2; group < groupCount; group += 2) {
        const answer = await send('POST', `${path}/explainMembership`, { groupId: ids[group] })
        const distance = distances.get(group)
        assert.equal(answer.status, distance === undefined ? 404 : 200)
        if (distance !== undefined) checkChain(answer.body.value, at, group, distance, ids, model)
      }
    }
    await Promise.all(ids.map(compareOne))
  }

  /** Every step of the chain is an edge, it ends at the group, and no chain is shorter. */
  function checkChain(
    chain: { id: string }[],
    from: number,
    to: number,
    distance: number,
    ids: readonly string[],
    model: NaiveModel,
  ): void {
    const positions = [from, ...chain.map(({ id }) => ids.indexOf(id))]
    assert.equal(chain.length, distance)
    assert.equal(positions.at(-1), to)
    for (const [at, position] of positions.slice(1).entries())
      assert.ok(model.edges.has(`${positions[at]}>${position}`))
  }

  test('random graphs with circles, grown and cut at random, answer as the model does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const groups = await Promise.all(Array.from({ length: groupCount }, () => directory.group()))
        const users = await Promise.all(Array.from({ length: userCount }, () => directory.user()))
        const ids = [...groups, ...users]
        const model = new NaiveModel()
        for (const one of steps) await take(one, ids, model)
        await compare(ids, model)
      }),
      { numRuns: runs(15) },
    )
  })
})
