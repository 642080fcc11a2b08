import type { Impact, LiveSession, RoleImpact } from '../../contracts/inspection.ts'
import type { Note } from '../../contracts/note.ts'
import type { Database } from '../../db/database.ts'
import type { Fragment } from '../../db/query.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import { readConsistently } from '../../db/read-consistently.ts'
import type { Sql } from '../../db/sql.ts'
import { everybody } from '../../masks/names.ts'
import type { Claimant } from '../../masks/read/claim.ts'
import { listExemptNames } from '../../masks/read/snapshot.ts'
import { type PolicySource, type TurnResult, takeTurn } from '../../masks/turn.ts'
import { readersOf } from '../exposures/routines.ts'
import { type Scene, setScene } from '../exposures/scene.ts'
import { groupByRole } from '../group-by-role.ts'
import { readsAll } from '../inspection/ordinary-tables.ts'
import { describeTurn } from '../turns/describe-turn.ts'
import { capNotes } from '../turns/judge-turn.ts'

/** A function may have a hundred arguments of types with long names. */
const longestSignature = 1000

/** Says what enforcing the policy would do. Reads alone: the plan is made in a transaction that is rolled back. */
export async function findImpact(
  database: Database,
  policy: PolicySource,
  claimant: Claimant,
): Promise<Impact> {
  const result = await takeTurn(database, policy, { dryRun: true, claimant })
  const notes = describeTurn(result)
  return readConsistently(database, async (sql) => {
    const scene = await setScene(sql, result)
    const lost = await readLost(scene, result)
    const names = [...new Set(lost.map(({ role }) => role))]
    const relations = groupByRole(lost)
    const functions = groupByRole(await readFunctions(scene, names))
    const sessions = await readSessions(sql, sql`a.usename = any(${names}::text[]::name[])`)
    const roles = names.map(
      (role): RoleImpact => ({
        role,
        canLogIn: scene.roles.get(role)?.canLogIn ?? false,
        relations: relations(role),
        functions: functions(role),
        sessions: sessions.filter((session) => session.role === role),
      }),
    )
    return {
      roles: roles.sort((one, other) => other.sessions.length - one.sessions.length),
      ended: await readWithdrawn(sql, result),
      reading: await readOldReaders(sql, result),
      closed: listClosed(result, notes),
      statements: result.steps.map(({ sql: text, why }) => ({ sql: text, why })),
      notes: capNotes(notes),
    }
  })
}

/**
 * The relations of which each role that is to see masks reads hidden columns now, by its own grants or inherited ones.
 */
async function readLost({ sql, hidden, ours }: Scene, { snapshot, plan }: TurnResult) {
  const rows = await sql<{ role: string; oid: number; numbers: number[] }[]>`
    select r.rolname::text as role, c.oid::int8 as oid, array_agg(h.number::int4 order by h.number) as numbers
    from unnest(${hidden.oids}::int8[]::oid[], ${hidden.numbers}::int2[])
      as h(relation, number)
    join pg_catalog.pg_class c on c.oid = h.relation
    join pg_catalog.pg_roles r on not r.rolsuper and r.rolname !~ '^pg_'
      and r.rolname <> all(${ours}::text[])
      and r.rolname <> all(${listExemptNames(snapshot)}::text[])
    where not (pg_catalog.pg_has_role(r.oid, c.relowner, 'USAGE') or ${readsAll(sql)})
      and pg_catalog.has_schema_privilege(r.oid, c.relnamespace, 'USAGE')
      and pg_catalog.has_column_privilege(r.oid, c.oid, h.number, 'SELECT')
    group by 1, 2, c.relname order by 1, c.relname`
  const wanted = new Map(plan.masked.map((one) => [one.relation.oid, one]))
  return rows.flatMap(({ role, oid, numbers }) => {
    const { relation, twin } = wanted.get(oid) ?? {}
    if (!relation) return []
    const columns = relation.columns.filter(({ number }) => numbers.includes(number)).map(({ name }) => name)
    return {
      ...{ role, relation: nameRelation(relation.schema, relation.name), kind: relation.kind, columns },
      twin: twin ? nameRelation(twin.schema, twin.name) : null,
    }
  })
}

/** `which`: of sessions `a` of roles `r`, null where the role is gone. */
async function readSessions(sql: Sql, which: Fragment): Promise<LiveSession[]> {
  return await sql<LiveSession[]>`
    select a.pid::int4 as pid, coalesce(a.usename::text, a.usesysid::text) as role,
      coalesce(a.application_name, '') as application, pg_catalog.host(a.client_addr) as address,
      to_char(a.backend_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since
    from pg_catalog.pg_stat_activity a left join pg_catalog.pg_roles r on r.oid = a.usesysid
    where a.datname = current_database() and a.usesysid is not null and ${which} order by a.backend_start, a.pid`
}

async function readFunctions(scene: Scene, roles: readonly string[]) {
  return await scene.sql<{ role: string; name: string; runsAsOwner: boolean }[]>`
    select r.rolname::text as role, pg_catalog.left(p.oid::regprocedure::text, ${longestSignature}) as name,
      p.prosecdef as "runsAsOwner"
    from pg_catalog.pg_proc p join pg_catalog.pg_roles r on r.rolname = any(${roles}::text[])
    where p.oid = any(${[...readersOf(scene).keys()]}::oid[])
      and pg_catalog.has_function_privilege(r.oid, p.oid, 'EXECUTE') order by 1, p.oid`
}

/** Sessions that `finish` would list and `findSessions` find: an open cursor would go on returning raw rows. */
async function readWithdrawn(sql: Sql, { snapshot, plan }: TurnResult) {
  const { header, exempt: wanted } = snapshot
  if (plan.masked.length === 0 || wanted.everybody || header === null) return []
  const exempt = header.exempt
  const before = header.exemptOids ?? []
  const after = [...wanted.roles]
  const isLosing = before.some((oid) => !after.includes(oid))
  const which = sql`a.usesysid <> all(${after}::int8[]::oid[])
      and (${exempt.includes(everybody)} or a.usesysid = any(${[...before]}::int8[]::oid[])
        or ${isLosing} and r.oid is null)
      and r.rolname is distinct from current_user and r.rolsuper is not true`
  const sessions = await readSessions(sql, which)
  return sessions.map((session) => ({ ...session, reason: 'its role loses an exemption' }))
}

/**
 * Transactions of masked roles that are open on a relation of which columns would be hidden: a cursor of theirs goes
 * on reading.
 */
async function readOldReaders(sql: Sql, { snapshot, plan }: TurnResult) {
  const concerned = plan.masked.filter(({ record, masks, hidden }) => {
    const known = new Set(record?.pins.map(({ number }) => number))
    return record ? [...masks.keys()].some((number) => !known.has(number)) : hidden.size > 0
  })
  const which = sql`not coalesce(r.rolsuper or r.rolname = current_user
        or r.rolname = any(${listExemptNames(snapshot)}::text[]), false)
      and exists (select from pg_catalog.pg_locks l where l.pid = a.pid and l.granted
        and l.relation = any(${concerned.map(({ relation }) => relation.oid)}::int8[]::oid[]))`
  const sessions = await readSessions(sql, which)
  return sessions.map((session) => ({ ...session, statement: `SELECT pg_terminate_backend(${session.pid})` }))
}

function listClosed({ plan }: TurnResult, notes: readonly Note[]): Impact['closed'] {
  return plan.masked
    .filter(({ twin }) => twin === null)
    .map(({ relation: { schema, name } }) => ({
      relation: nameRelation(schema, name),
      reason:
        notes.find(({ target }) => target === `${schema}.${name}`)?.message ??
        'The table is suspended, or what it reads has no twin.',
    }))
}

/** As people write it: in quotes only where SQL needs them. */
function nameRelation(schema: string, name: string): string {
  const quote = (part: string) => (/^[a-z_][a-z0-9_$]*$/.test(part) ? part : quoteIdentifier(part))
  return `${quote(schema)}.${quote(name)}`
}
