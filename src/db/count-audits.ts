import type { TargetRange } from './audit.ts'
import type { Query } from './query.ts'

export interface DayCounts {
  /** Days since the start. */
  readonly day: number
  readonly touches: number
  readonly logins: number
  readonly changes: number
  readonly rulesAdded: number
  readonly rulesRemoved: number
}

/** Events of masking and the gateway by days of 24 hours since a time; days without any are left out. */
export async function countAuditEvents(sql: Query, tenantId: string, since: string): Promise<DayCounts[]> {
  return await sql<DayCounts[]>`
    select floor(extract(epoch from at - ${since}::timestamptz) / 86400)::int as day,
      count(*) filter (where action = 'gateway/touch')::int as touches,
      count(*) filter (where action = 'gateway/connect')::int as logins,
      count(*) filter (where action like '%/write' or action like '%/delete')::int as changes,
      count(*) filter (where action like '%/rules/write' and before is null)::int as "rulesAdded",
      count(*) filter (where action like '%/rules/delete')::int as "rulesRemoved"
    from audit_event where tenant_id = ${tenantId} and at >= ${since}::timestamptz and action like '%/%'
    group by 1`
}

/** Entries of a target and of those between two others since a time, by action and days of 24 hours since the start. */
export async function countActions(
  sql: Query,
  tenantId: string,
  { target, start, from }: { readonly target: TargetRange; readonly start: string; readonly from: string },
): Promise<{ day: number; action: string; count: number }[]> {
  return await sql<{ day: number; action: string; count: number }[]>`
    select floor(extract(epoch from at - ${start}::timestamptz) / 86400)::int as day, action, count(*)::int as count
    from audit_event
    where tenant_id = ${tenantId} and at >= ${from}::timestamptz
      and (target = ${target.is} or (target >= ${target.after} and target < ${target.before}))
    group by 1, 2`.unnamed()
}

/** The actors with most entries about masked columns since a time, the busiest first. */
export async function countTouchesByActor(
  sql: Query,
  tenantId: string,
  since: string,
  limit: number,
): Promise<{ objectId: string; touches: number }[]> {
  return await sql<{ objectId: string; touches: number }[]>`
    select actor ->> 'objectId' as "objectId", count(*)::int as touches
    from audit_event where tenant_id = ${tenantId} and at >= ${since}::timestamptz and action = 'gateway/touch'
    group by 1 order by 2 desc, 1 limit ${limit}`
}
