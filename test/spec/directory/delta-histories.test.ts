// Random histories: several writers change users, groups and devices while clients walk pages and follow links. At the end
// of each history every client's copy must equal the directory. MASQUERADE_TEST_RUNS multiplies the histories.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { caller, everything } from '../../support/call.ts'
import { clause } from '../../support/clause.ts'
import { DeltaClient } from '../../support/delta-client.ts'
import { runs } from '../../support/runs.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const sets = ['users', 'groups', 'devices'] as const
type Set = (typeof sets)[number]
const most: Readonly<Record<Set, number>> = { users: 8, groups: 6, devices: 2 }
const writers = 3
const writesOfEach = 9
const stepsOfEach = 6

/** Numbers that depend on the seed alone, so that a history can be told again as far as timing allows. */
function createRandom(seed: number): (below: number) => number {
  let state = seed * 2_654_435_769 + 1
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 374_761_393) | 0
    return ((state ^ (state >>> 13)) >>> 0) % below
  }
}

describe('delta queries under random writes', () => {
  let service: TestService
  let token: string
  const living: Record<Set, string[]> = { users: [], groups: [], devices: [] }
  const deleted: string[] = []

  before(async () => {
    service = await startTestService()
    token = service.tokenFor({ kind: 'application', permissions: everything })
    await service.tokens.settled()
  })
  after(() => service?.[Symbol.asyncDispose]())

  const call = caller(
    () => service,
    () => token,
  )
  const get = async (url: string) => (await call('GET', url, 200)).body
  /** Writers get in each other's way: an object may be gone, or a member already. Anything but that is a failure. */
  async function write(method: string, path: string, body?: unknown) {
    const answer = await service.request(method, `/v1.0${path}`, {
      token,
      ...(body !== undefined && { body }),
    })
    assert.ok(answer.status < 300 || [400, 404].includes(answer.status), `${method} ${path}: ${answer.text}`)
    return answer.status < 300 ? (answer.body ?? {}) : undefined
  }

  const bodies: Record<Set, () => object> = {
    users: () => ({
      accountEnabled: true,
      displayName: 'U',
      mailNickname: 'u',
      userPrincipalName: `${randomUUID()}@example.com`,
      passwordProfile: { password: 'a long-winded Phrase 42' },
    }),
    groups: () => ({
      displayName: 'G',
      mailNickname: randomUUID(),
      mailEnabled: false,
      securityEnabled: true,
    }),
    devices: () => ({
      accountEnabled: true,
      displayName: 'D',
      deviceId: randomUUID(),
      operatingSystem: 'x',
      operatingSystemVersion: '1',
      alternativeSecurityIds: [{ type: 2, key: 'QQ==' }],
    }),
  }

  async function writeOnce(random: (below: number) => number): Promise<void> {
    const pick = <T>(list: readonly T[]) => list[random(list.length)]
    const set = pick(sets) as Set
    const id = pick(living[set])
    const group = pick(living.groups)
    const member = pick([...living.users, ...living.groups, ...living.devices])
    const drop = (list: string[], one: string) =>
      void list.splice(list.indexOf(one), list.includes(one) ? 1 : 0)
    const one = random(20)
    if (id === undefined || (one < 2 && living[set].length < most[set])) {
      const made = await write('POST', `/${set}`, bodies[set]())
      if (made) living[set].push(made.id)
    } else if (one < 5) await write('PATCH', `/${set}/${id}`, { displayName: `${random(1000)}` })
    else if (one < 7) {
      drop(living[set], id)
      if ((await write('DELETE', `/${set}/${id}`)) && set !== 'devices') deleted.push(`${set} ${id}`)
    } else if (one < 10 && deleted.length > 0) {
      const gone = pick(deleted) as string
      drop(deleted, gone)
      const [from, key] = gone.split(' ') as [Set, string]
      if (random(3) === 0) await write('DELETE', `/directory/deletedItems/${key}`)
      else if (await write('POST', `/directory/deletedItems/${key}/restore`)) living[from].push(key)
    } else if (one < 16 && group !== undefined && member !== undefined)
      await write('POST', `/groups/${group}/members/$ref`, {
        '@odata.id': `https://x.example/v1.0/directoryObjects/${member}`,
      })
    else if (group !== undefined && member !== undefined)
      await write('DELETE', `/groups/${group}/members/${member}/$ref`)
  }

  /** The copy of a client against the directory, as the lists show it. */
  async function compare(client: DeltaClient, set: Set): Promise<void> {
    const { value } = await get(`/${set}?$top=999`)
    const copies = [...client.copies.values()].map(({ shown }) => shown)
    assert.deepEqual(
      copies.toSorted((a, b) => (String(a.id) < String(b.id) ? -1 : 1)),
      value,
    )
    if (set !== 'groups') return
    const members = await service.database.sql<{ id: string; members: string[] }[]>`
      select g.id, array(select m.id::text from member_edge e join directory_object m on m.id = e.member_id
        where e.container_id = g.id and m.deleted_at is null order by m.id) as members
      from directory_object g where g.kind = 'group' and g.deleted_at is null order by g.id`
    assert.deepEqual(
      members.map(({ id }) => ({ id, members: client.membersOf(id) })),
      [...members],
    )
  }

  clause(
    'DIR-257',
    'A change that is made while a client reads pages comes in that round or in the next one. A client that applies …',
    async () => {
      /** One client follows its links through all histories, beside those that start anew in each. */
      const faithful = new DeltaClient(get, '/groups/delta?$expand=members&$top=2')
      for (let seed = 1; seed <= runs(12); seed++) {
        const random = createRandom(seed)
        const clients = sets.map((set) => {
          const options = `$top=${1 + random(3)}${set === 'groups' ? '&$expand=members' : ''}`
          return [new DeltaClient(get, `/${set}/delta?${options}`), set] as const
        })
        const writing = Array.from({ length: writers }, async (_, at) => {
          const own = createRandom(seed * 31 + at)
          for (let count = 0; count < writesOfEach; count++) await writeOnce(own)
        })
        const reading = [...clients.map(([client]) => client), faithful].map(async (client) => {
          for (let count = 0; count < stepsOfEach; count++) await client.step()
        })
        await Promise.all([...writing, ...reading])
        for (const [client, set] of [...clients, [faithful, 'groups'] as const]) {
          // The end of the round under way, and a whole one: it has what changed since the other began.
          for (let rounds = 0; rounds < 2; rounds++) await client.round()
          await compare(client, set).catch((error) => {
            throw new Error(`history ${seed}, ${set}: ${error.message}`)
          })
        }
      }
    },
  )
})
