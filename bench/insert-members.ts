// The rows that PATCHes of groups with members write, straight to PostgreSQL: for each group its new members, an entry of
// the change log for each, and one audit entry, in one transaction. Each caller has revisions of its own and waits for no
// other. Reads a plan as JSON on standard input, prints transactions per second as JSON.
import { text } from 'node:stream/consumers'
import pg from 'pg'

export interface InsertPlan {
  readonly url: string
  readonly tenantId: string
  readonly callers: number
  readonly seconds: number
  /** The transactions, by turns: a group and its new members. */
  readonly additions: readonly { readonly group: string; readonly members: readonly string[] }[]
  /** The tenant of the log entries: in the log of the first, nodes would miss the revisions between. */
  readonly logTenantId: string
}

export interface InsertResult {
  readonly transactionsPerSecond: number
}

const statements = {
  edges: `insert into member_edge (tenant_id, container_id, member_id)
    select $1, $2, id from unnest($3::uuid[]) as id order by id on conflict do nothing`,
  log: `insert into change_log (tenant_id, revision, entity, entity_id, kind, data)
    select $1, $2::bigint + at, 'group', $3, 'memberAdded', jsonb_build_object('id', id)
    from unnest($4::uuid[]) with ordinality as member (id, at)`,
  audit: `insert into audit_event (tenant_id, actor, action, target, after)
    values ($1, '{}', 'update group', $2, $3)`,
}

async function insertAll(plan: InsertPlan, take: () => InsertPlan['additions'][number], caller: number) {
  const client = new pg.Client({ connectionString: plan.url, options: '-c search_path=masquerade' })
  await client.connect()
  const run = (name: keyof typeof statements, values: unknown[]) =>
    client.query({ name, text: statements[name], values })
  let revision = caller * 1_000_000
  let count = 0
  // The trigger about writes past the log stays quiet, as in the service.
  await client.query(`set masquerade.logged = 'on'`)
  for (const endsAt = performance.now() + plan.seconds * 1000; performance.now() < endsAt; count++) {
    const { group, members } = take()
    await client.query('begin')
    await run('edges', [plan.tenantId, group, members])
    await run('log', [plan.logTenantId, revision, group, members])
    await run('audit', [plan.tenantId, `/groups/${group}`, JSON.stringify({ members })])
    await client.query('commit')
    revision += members.length
  }
  await client.end()
  return count
}

async function run(plan: InsertPlan): Promise<InsertResult> {
  let turn = 0
  const take = () => {
    const addition = plan.additions[turn++]
    if (!addition) throw new Error('the plan has too few additions')
    return addition
  }
  const startedAt = performance.now()
  const counts = await Promise.all(
    Array.from({ length: plan.callers }, (_, caller) => insertAll(plan, take, caller)),
  )
  const seconds = (performance.now() - startedAt) / 1000
  return { transactionsPerSecond: counts.reduce((sum, count) => sum + count, 0) / seconds }
}

if (import.meta.main) process.stdout.write(JSON.stringify(await run(JSON.parse(await text(process.stdin)))))
