import type { TargetRange } from './audit.ts'
import type { Fragment, Query } from './query.ts'

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

/** Executions of statements, each by the first of these that it has. Where a policy is observed, reads are raw. */
export interface Reads {
  readonly raw: number
  readonly masked: number
  readonly denied: number
}

export async function countReadsByDay(
  sql: Query,
  tenantId: string,
  since: string,
): Promise<{ day: number; reads: Reads }[]> {
  return await sql<{ day: number; reads: Reads }[]>`
    select floor(extract(epoch from at - ${since}::timestamptz) / 86400)::int as day, ${sumReads(sql)} as reads
    ${selectReads(sql, tenantId, since)} group by 1`
}

/** The actors with most reads since a time: the ones who read raw values come first. */
export async function countReadsByActor(
  sql: Query,
  tenantId: string,
  since: string,
  limit: number,
): Promise<{ objectId: string; touches: number; reads: Reads }[]> {
  return await sql<{ objectId: string; touches: number; reads: Reads }[]>`
    select actor ->> 'objectId' as "objectId", count(*)::int as touches, ${sumReads(sql)} as reads
    ${selectReads(sql, tenantId, since)}
    group by 1 order by coalesce(sum(raw), 0) desc, coalesce(sum(masked), 0) desc, coalesce(sum(denied), 0) desc, 2 desc, 1
    limit ${limit}`
}

function sumReads(sql: Query): Fragment {
  return sql`jsonb_build_object('raw', coalesce(sum(raw), 0), 'masked', coalesce(sum(masked), 0),
    'denied', coalesce(sum(denied), 0))`
}

function selectReads(sql: Query, tenantId: string, since: string): Fragment {
  return sql`
    from audit_event left join lateral (
      select sum(times) filter (where how = 'raw') as raw, sum(times) filter (where how = 'masked') as masked,
        sum(times) filter (where how = 'denied') as denied
      from (
        select (one ->> 'count')::int8 as times, case
          when coalesce(one -> 'raw', one -> 'wouldMask') is not null then 'raw'
          when one -> 'masked' is not null then 'masked'
          when one -> 'denied' is not null then 'denied' end as how
        from jsonb_array_elements(after -> 'statements') as s(one)) as statement) as reads on true
    where tenant_id = ${tenantId} and at >= ${since}::timestamptz and action = 'gateway/touch'`
}
