import type { Database } from './database.ts'
import type { Fragment, Query } from './query.ts'
import type { Row } from './sql.ts'
import { sqlstateOf } from './sqlstate.ts'

interface Actor {
  readonly kind: string
  readonly tenantId: string
  readonly objectId: string
  readonly applicationId: string
}

interface Entry {
  readonly action: string
  readonly target: string
  readonly before?: unknown
  readonly after?: unknown
}

/** Writes an audit entry in the transaction of the change it describes: both are kept, or neither. */
export async function writeAudit(tx: Query, actor: Actor, requestId: string, entry: Entry): Promise<void> {
  await insertAudit(tx, actor, requestId, entry, tx``)
}

// SVC-123: the default is the start of the transaction, which may have waited for the changes of others since.
async function insertAudit(tx: Query, actor: Actor, requestId: string, entry: Entry, returning: Fragment) {
  const { kind, objectId, applicationId } = actor
  return await tx<Row[]>`
    insert into masquerade.audit_event (at, tenant_id, actor, action, target, before, after, request_id)
    values (
      clock_timestamp(), ${actor.tenantId}, ${tx.json({ kind, objectId, applicationId })}, ${entry.action}, ${foldTarget(entry.target)},
      ${jsonOrNull(tx, entry.before)}, ${jsonOrNull(tx, entry.after)}, ${requestId}
    ) ${returning}`
}

/**
 * Writes the entries of one request; many in one statement. Returns what the statement reads beside it, where it is asked to:
 * a question that every write asks takes no statement of its own.
 */
export async function writeAuditOf(
  tx: Query,
  actor: Actor,
  requestId: string,
  entries: readonly Entry[],
  question?: Fragment,
): Promise<Row | undefined> {
  const [first, ...more] = entries
  const returning = question ? tx`returning ${question}` : tx``
  if (!first) return undefined
  if (more.length === 0) return (await insertAudit(tx, actor, requestId, first, returning))[0]
  const { kind, objectId, applicationId } = actor
  const rows = entries.map((entry) => ({ ...entry, target: foldTarget(entry.target) }))
  const [answer] = await tx<Row[]>`
    insert into masquerade.audit_event (at, tenant_id, actor, action, target, before, after, request_id)
    select clock_timestamp(), ${actor.tenantId}, ${tx.json({ kind, objectId, applicationId })}, action, target, before, after,
      ${requestId}
    from jsonb_to_recordset(${tx.json(rows)}) as entry (action text, target text, before jsonb, after jsonb)
    ${returning}`
  return answer
}

/**
 * Targets of masking are compared with the folded keys of resources, so each one is folded here, whichever way the caller
 * wrote the names in the path. Those of the directory stay: names of open extensions keep their case.
 */
function foldTarget(target: string): string {
  return /^\/(subscriptions|providers)\//i.test(target) ? target.toLowerCase() : target
}

function jsonOrNull(tx: Query, value: unknown) {
  return value === undefined || value === null ? null : tx.json(value)
}

export interface LaterEntry extends Omit<Entry, 'before'> {
  readonly at: Date
  readonly actor: Actor
  readonly requestId: string
}

/** Entries about what happened already, all or none of them. */
export async function writeAudits(tx: Query, entries: readonly LaterEntry[]): Promise<void> {
  const rows = entries.map(({ actor: { tenantId, ...actor }, ...entry }) => ({
    ...entry,
    target: foldTarget(entry.target),
    tenantId,
    actor,
  }))
  await tx`
    insert into masquerade.audit_event (at, tenant_id, actor, action, target, after, request_id)
    select at, "tenantId", actor, action, target, after, "requestId"
    from jsonb_to_recordset(${tx.json(rows)}) as entry (
      at timestamptz, "tenantId" uuid, actor jsonb, action text, target text, after jsonb, "requestId" text)`
}

/** SQLSTATEs of data exceptions and of exceeded limits: the same entry fails each time, however the store is. */
const refusedContent = /^(22|54)/

/**
 * The same, except that entries whose content the store refuses are left out: it returns them. They must not keep others from
 * being written.
 */
export async function writeStorableAudits<E extends LaterEntry>(
  database: Pick<Database, 'sql' | 'transaction'>,
  entries: readonly E[],
): Promise<E[]> {
  try {
    await writeAudits(database.sql, entries)
    return []
  } catch (error) {
    if (!refusedContent.test(sqlstateOf(error))) throw error
  }
  return await database.transaction(async (tx) => {
    const refused: E[] = []
    for (const entry of entries)
      await tx
        .savepoint(() => writeAudits(tx, [entry]))
        .catch((error: unknown) => {
          if (!refusedContent.test(sqlstateOf(error))) throw error
          refused.push(entry)
        })
    return refused
  })
}

/** Who did something to a target first. Without a limit: with one, the store may search the whole audit by time. */
export async function findFirstActor(
  sql: Query,
  tenantId: string,
  { action, targets }: { readonly action: string; readonly targets: readonly string[] },
): Promise<Omit<Actor, 'tenantId'> | undefined> {
  const [first] = await sql<{ actor: Omit<Actor, 'tenantId'> }[]>`
    select actor from audit_event
    where tenant_id = ${tenantId} and target = any(${targets}) and action = ${action} order by at, id`
  return first?.actor
}

/** A column that a role read through the gateway and would have seen masked. */
export interface ObservedTouch {
  readonly role: string
  readonly column: string
  readonly statements: number
  readonly last: string
}

export async function selectObservedTouches(
  sql: Query,
  tenantId: string,
  target: string,
  since: string,
): Promise<ObservedTouch[]> {
  return await sql<ObservedTouch[]>`
    select after ->> 'role' as role, c.name as "column", sum((s.one ->> 'count')::int8)::int8 as statements,
      to_char(max(at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as last
    from audit_event cross join lateral jsonb_array_elements(after -> 'statements') as s(one)
    cross join lateral jsonb_array_elements_text(coalesce(s.one -> 'wouldMask', '[]')) as c(name)
    where tenant_id = ${tenantId} and target = ${target} and action = 'gateway/touch' and at >= ${since}::timestamptz
    group by 1, 2 order by 1, 2`
}

export interface TargetRange {
  readonly is: string
  readonly after: string
  readonly before: string
}

/** Every action that has an entry, each found by one step in an index: there are few actions, and many entries. */
export async function listAuditActions(sql: Query, tenantId: string): Promise<string[]> {
  const rows = await sql<{ action: string }[]>`
    with recursive found as (
      select (select min(action) from audit_event where tenant_id = ${tenantId}) as action
      union all
      select (select min(action) from audit_event where tenant_id = ${tenantId} and action > found.action)
      from found where found.action is not null)
    select action from found where action is not null`
  return rows.map(({ action }) => action)
}

export interface AuditEvent {
  readonly id: string
  readonly time: string
  readonly action: string
  readonly target: string
  readonly actor: unknown
  readonly before: { readonly [property: string]: unknown } | null
  readonly after: { readonly [property: string]: unknown } | null
  readonly requestId: string | null
}

export interface AuditSelection {
  /** The target itself, or one between two others, that begins with one of the prefixes; `%` is any text. */
  readonly target: TargetRange & { readonly prefixes: readonly string[] }
  readonly time: { readonly from: string | null; readonly to: string | null }
  /** Null: any. */
  readonly actions: readonly string[] | null
  /** The object ids, or names of database roles, of those who acted; null: any. */
  readonly actors: readonly string[] | null
  /** The last entry of the page before. */
  readonly last: { readonly time: string | null; readonly id: string | null }
  readonly limit: number
}

/** Audit entries, newest first. Which index serves depends on what is asked for, so each statement is planned anew. */
export async function selectAuditEvents(
  sql: Query,
  tenantId: string,
  { target, time, actions, actors, last, limit }: AuditSelection,
): Promise<AuditEvent[]> {
  return await sql<AuditEvent[]>`
    select id::text, ${asUtcText(sql, sql`at`)} as time, action, target, actor,
      before, after, request_id as "requestId"
    from audit_event
    where tenant_id = ${tenantId}
      and (target = ${target.is} or (target >= ${target.after} and target < ${target.before}))
      and target like any (${target.prefixes.map((prefix) => `${prefix}%`)}::text[])
      and (${time.from}::timestamptz is null or at >= ${time.from}::timestamptz)
      and (${time.to}::timestamptz is null or at < ${time.to}::timestamptz)
      and (${actions}::text[] is null or action = any(${actions}::text[]))
      and (${actors}::text[] is null or actor ->> 'objectId' = any(${actors}::text[]))
      and (${last.time}::timestamptz is null or (at, audit_event.id) < (${last.time}::timestamptz, ${last.id}::bigint))
    order by at desc, audit_event.id desc
    limit ${limit}`.unnamed()
}

/**
 * The first time after all entries of a target, and of targets between two others, up to the last one with this action;
 * null without one. The order is that of ids: in entries of earlier releases a change that waited for a lock has an earlier
 * time than others before it.
 */
export async function selectTimeAfter(
  sql: Query,
  tenantId: string,
  last: TargetRange & { readonly action: string },
): Promise<string | null> {
  const [row] = await sql<{ at: string | null }[]>`
    select ${asUtcText(sql, sql`max(at) + interval '1 microsecond'`)} as at from audit_event
    where tenant_id = ${tenantId} and (target = ${last.is} or (target >= ${last.after} and target < ${last.before}))
      and id <= (select max(id) from audit_event
        where tenant_id = ${tenantId} and target = ${last.is} and action = ${last.action})`
  return row?.at ?? null
}

/** A time as the audit shows it, with microseconds. */
export function asUtcText(sql: Query, time: Fragment): Fragment {
  return sql`to_char((${time}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
}

/**
 * The entries about the directory, for a list to go on with. Actions of masking and of the gateway have a slash in their
 * names, or the target is a resource of masking. The first condition is that of an index.
 */
export function selectDirectoryAudits(sql: Query, tenantId: string): Fragment {
  return sql`
    select id, at, actor, action, target, before, after, request_id from audit_event
    where tenant_id = ${tenantId} and action not like '%/%' and target not like '/subscriptions/%/%'`
}
