// How fast members are added: PATCHes of groups with 20 members by 8 callers at a time, as a ratio to transactions of 8
// connections that write the same rows straight to PostgreSQL.
// Run: npm run bench bench/membership-writes.ts [rounds] [seconds per round]
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { json } from 'node:stream/consumers'
import type { Service } from '../src/main.ts'
import { createTokens } from '../test/support/tokens.ts'
import type { InsertPlan, InsertResult } from './insert-members.ts'
import type { LoadPlan, LoadResult } from './load.ts'
import { median } from './median.ts'
import { openService } from './open-service.ts'

const rounds = Number(process.argv[2] ?? 5)
const seconds = Number(process.argv[3] ?? 4)
const callers = 8
const membersPerRequest = 20
const [groupCount, userCount] = [2_000, 10_000]
/** More than either way manages in a round. */
const additionsPerRound = seconds * 3_000

async function runProgram<T>(name: string, plan: unknown): Promise<T> {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, name)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(JSON.stringify(plan))
  return (await json(child.stdout)) as T
}

async function fill({ database: { sql }, store: { tenantId } }: Service) {
  await sql`
    insert into directory_object (tenant_id, id, kind, properties)
    select ${tenantId}, md5('group' || n)::uuid, 'group', jsonb_build_object('displayName', 'Group ' || n,
      'mailNickname', 'group' || n, 'groupTypes', '[]'::jsonb, 'securityEnabled', true, 'mailEnabled', false)
    from generate_series(1, ${groupCount}::int) as n`
  await sql`
    insert into directory_object (tenant_id, id, kind, properties)
    select ${tenantId}, md5('user' || n)::uuid, 'user', jsonb_build_object('displayName', 'User ' || n,
      'userPrincipalName', 'user' || n || '@example.com', 'accountEnabled', true)
    from generate_series(1, ${userCount}::int) as n`
  await sql`vacuum analyze directory_object`
  const read = async (kind: string) => {
    const rows = await sql<{ id: string }[]>`
      select id from directory_object where kind = ${kind} and display_name ~ '^(User|Group) [0-9]+$' order by id`
    return rows.map(({ id }) => id)
  }
  return { groups: await read('group'), users: await read('user') }
}

/** Pairs of a group and 20 users that never come again. Neighbours are of different groups, as with callers at large. */
function* chooseAdditions(groups: readonly string[], users: readonly string[]) {
  for (let block = 0; (block + 1) * membersPerRequest <= users.length; block++) {
    const members = users.slice(block * membersPerRequest, (block + 1) * membersPerRequest)
    for (const group of groups) yield { group, members }
  }
}

function fail(reason: string): never {
  throw new Error(reason)
}

async function measure(service: Service): Promise<void> {
  const tokens = await createTokens(service)
  const token = tokens.tokenFor({
    kind: 'application',
    permissions: ['GroupMember.ReadWrite.All', 'Group.ReadWrite.All', 'User.ReadWrite.All'],
  })
  await tokens.settled()
  const { groups, users } = await fill(service)
  const additions = chooseAdditions(groups, users)
  const choose = () =>
    Array.from({ length: additionsPerRound }, () => additions.next().value ?? fail('no pairs are left'))
  const origin = 'https://directory.example/v1.0/directoryObjects'
  const patch = async () => {
    const chosen = choose()
    const plan: LoadPlan = {
      port: service.listeners.httpPort,
      token,
      method: 'PATCH',
      connections: callers,
      seconds,
      paths: chosen.map(({ group }) => `/v1.0/groups/${group}`),
      bodies: chosen.map(({ members }) =>
        JSON.stringify({ 'members@odata.bind': members.map((id) => `${origin}/${id}`) }),
      ),
    }
    return (await runProgram<LoadResult>('load.ts', plan)).requestsPerSecond
  }
  const insert = async () => {
    const { store } = service
    const plan: InsertPlan = {
      url: store.server?.url ?? '',
      tenantId: store.tenantId,
      logTenantId: randomUUID(),
      callers,
      seconds,
      additions: choose(),
    }
    return (await runProgram<InsertResult>('insert-members.ts', plan)).transactionsPerSecond
  }
  const rates = { patches: [] as number[], inserts: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    rates.patches.push(await patch())
    rates.inserts.push(await insert())
  }
  const [patches, inserts] = [median(rates.patches), median(rates.inserts)]
  console.log(`PATCH with ${membersPerRequest} members, ${callers} callers: ${patches.toFixed(0)} requests/s`)
  console.log(`the same rows straight to PostgreSQL: ${inserts.toFixed(0)} transactions/s`)
  console.log(`ratio: ${(patches / inserts).toFixed(2)} of the transactions`)
}

const service = await openService()
try {
  await measure(service)
} finally {
  await service.close()
}
