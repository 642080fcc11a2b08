import type { Fragment, Query } from './query.ts'

export type Change = {
  entity: string
  entityId: string
  kind: string
  data?: unknown
}

/**
 * Logs changes of the transaction. They get the tenant's next revisions when it commits (`sql/0011-log-at-commit.sql`):
 * revisions have no gaps (a rollback takes none), and their order is the commit order.
 */
export async function appendChanges(tx: Query, tenantId: string, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) {
    // Nothing changed, and nothing is missing in the log: nodes need not load anew.
    await tx`select set_config('masquerade.logged', 'on', true)`
    return
  }
  const entries = changes.map((change) => ({ tenantId, ...change }))
  await tx`
    with noted as (
      insert into directory_write (writer) values (pg_current_xact_id()) on conflict do nothing
    )
    select set_config('masquerade.changes', (
      coalesce(nullif(current_setting('masquerade.changes', true), ''), '[]')::jsonb || ${tx.json(entries)}::jsonb
    )::text, true)`
}

/**
 * Logs the rows of queries (entity, entity_id, kind, data), one query after the other. `total` is the number of all
 * their rows, counted by the caller; it throws where there are fewer or more. The counter is locked from here to the
 * commit, which makes other writers wait: for transfers, whose changes are too many for a setting.
 */
export async function appendSelected(
  tx: Query,
  tenantId: string,
  total: number,
  queries: readonly Fragment[],
): Promise<void> {
  const newest = await takeRevisions(tx, tenantId, total)
  let next = newest - total
  for (const rows of queries) {
    const { count } = await tx`
      insert into change_log (tenant_id, revision, entity, entity_id, kind, data)
      select ${tenantId}, ${next} + row_number() over (), row.entity, row.entity_id, row.kind, row.data
      from (${rows}) row`
    next += count
  }
  if (next !== newest) throw new Error('the change log would have a gap')
}

async function takeRevisions(tx: Query, tenantId: string, count: number): Promise<number> {
  const [counter] = await tx<{ value: number }[]>`
    insert into revision_counter as counter (tenant_id, value) values (${tenantId}, ${count})
    on conflict (tenant_id) do update set value = counter.value + excluded.value
    returning value, set_config('masquerade.logged', 'on', true)`
  if (!counter) throw new Error('the revision counter returned no row')
  return counter.value
}

/** The revision of the newest committed change; 0 before the first. */
export async function readRevision(sql: Query, tenantId: string): Promise<number> {
  const [counter] = await sql<
    { value: number }[]
  >`select value from revision_counter where tenant_id = ${tenantId}`
  return counter?.value ?? 0
}

/** An entry of the log. `mark` tells it from the entry of the same revision in another history. */
export interface LogEntry {
  readonly revision: number
  readonly mark: string
}

const mark = `extract(epoch from at)::text || ' ' || entity_id || ' ' || kind`

/** Statements over the log for readers that follow it; `$1` is the tenant. */
export const logTexts = {
  newest: 'select value from revision_counter where tenant_id = $1',
  markAt: `select ${mark} from change_log where tenant_id = $1 and revision = $2`,
  /**
   * Entries after the revision `$2`; `other` is the second object of an edge. The upper bound is beyond all that a node
   * follows: with it the planner uses an index for any value.
   */
  since: `select revision, entity, entity_id, kind, data ->> 'id' as other, ${mark} as mark from change_log
    where tenant_id = $1 and revision > $2 and revision <= $2 + 100000`,
} as const

/** The newest entry that a transaction sees. */
export async function readNewestEntry(tx: Query, tenantId: string): Promise<LogEntry> {
  const [row] = await tx.unsafe<LogEntry[]>(
    `select revision, ${mark} as mark from change_log where tenant_id = $1 order by revision desc limit 1`,
    [tenantId],
  )
  return row ?? { revision: 0, mark: '' }
}

/** True while the log has this very entry, no older than the days given: it then has all that came after. */
export async function hasEntry(
  sql: Query,
  tenantId: string,
  { revision, mark: expected }: LogEntry,
  days: number,
): Promise<boolean> {
  const [row] = await sql.unsafe<{ mark: string; fresh: boolean }[]>(
    `select ${mark} as mark, at >= now() - make_interval(days => $3) as fresh from change_log
     where tenant_id = $1 and revision = $2`,
    [tenantId, revision, days],
  )
  return row?.mark === expected && row.fresh
}

/** True when the directory was written past the service after a revision: the log does not tell what changed. */
export async function isRewritten(sql: Query, tenantId: string, after: number): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`
    select exists (select from change_log
      where tenant_id = ${tenantId} and revision > ${after} and kind = 'rewritten') as found`
  return row?.found ?? false
}

/** Entries from one revision to another, both included, as a part of a larger statement. */
export function selectEntries(sql: Query, tenantId: string, from: number, to: number): Fragment {
  return sql`
    select revision, at, entity, entity_id, kind, data ->> 'id' as other from change_log
    where tenant_id = ${tenantId} and revision between ${from} and ${to}`
}

/** The revision as a part of a larger statement, of the same snapshot as the rest of it. */
export function selectRevision(sql: Query, tenantId: string): Fragment {
  return sql`coalesce((select value from revision_counter where tenant_id = ${tenantId}), 0)`
}
