import type { Database } from '../../db/database.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import { findNewlyHidden, startPlan } from '../diff.ts'
import { readersOf, readRoutines } from '../exposures/definer-functions.ts'
import type { Scene } from '../exposures/exposure.ts'
import { lockTimeoutMs, setScene } from '../exposures/find-exposures.ts'
import type { Claimant } from '../guard/claim.ts'
import { listExemptOids } from '../guard/guard-steps.ts'
import type { Outcome, PolicySource } from '../in-turn.ts'
import { everybody } from '../names.ts'
import { reconcile } from '../reconcile.ts'
import { capNotes } from '../states/cap-notes.ts'
import type { Impact, LiveSession, LostRelation, RoleImpact } from './impact.ts'

const statementTimeoutMs = 20_000
/** A function may have a hundred arguments of types with long names. */
const longestSignature = 1000

/** Says what enforcing the policy would do. Reads alone: the plan is made in a transaction that is rolled back. */
export async function findImpact(
  database: Database,
  policy: PolicySource,
  claimant: Claimant,
): Promise<Impact> {
  const outcome = await reconcile(database, policy, { dryRun: true, claimant })
  return database.transaction(async (sql) => {
    await sql.unsafe(
      `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL statement_timeout = ${statementTimeoutMs}; SET LOCAL lock_timeout = ${lockTimeoutMs}`,
    )
    const scene = await setScene(sql, outcome)
    const lost = await readLost(scene, outcome)
    const sessions = await readSessions(sql, [...lost.keys()])
    const functions = await readFunctions(scene, [...lost.keys()])
    const roles = [...lost].map(
      ([role, relations]): RoleImpact => ({
        role,
        canLogIn: scene.book.roles.get(role)?.login ?? false,
        sessions: sessions.filter((session) => session.role === role),
        relations,
        functions: functions.get(role) ?? [],
      }),
    )
    return {
      roles: roles.sort((one, other) => other.sessions.length - one.sessions.length),
      ended: [...(await readWithdrawn(sql, outcome)), ...(await readOldReaders(sql, outcome))],
      closed: listClosed(outcome),
      statements: outcome.steps.map(({ sql: text, why }) => ({ sql: text, why })),
      notes: capNotes(outcome.notes),
    }
  })
}

/** The relations of which each role that is to see masks reads hidden columns now, by its own grants or inherited ones. */
async function readLost({ sql, version, masked, self, twinOwners }: Scene, { desired }: Outcome) {
  const hidden = masked.flatMap(({ oid, hidden: columns }) => columns.map(({ number }) => ({ oid, number })))
  const readsAll =
    version >= 140000 ? sql`or pg_catalog.pg_has_role(r.oid, 'pg_read_all_data', 'USAGE')` : sql``
  const rows = await sql<{ role: string; oid: number; numbers: number[] }[]>`
    select r.rolname::text as role, c.oid::int8 as oid, array_agg(h.number::int4 order by h.number) as numbers
    from unnest(${hidden.map(({ oid }) => oid)}::int8[]::oid[], ${hidden.map(({ number }) => number)}::int2[])
      as h(relation, number)
    join pg_catalog.pg_class c on c.oid = h.relation
    join pg_catalog.pg_roles r on not r.rolsuper and r.rolname !~ '^pg_' and r.rolname <> all(${[self, ...twinOwners]}::text[])
      and r.rolname <> all(${[...desired.exempt]}::text[])
    where not (pg_catalog.pg_has_role(r.oid, c.relowner, 'USAGE') ${readsAll})
      and pg_catalog.has_schema_privilege(r.oid, c.relnamespace, 'USAGE')
      and pg_catalog.has_column_privilege(r.oid, c.oid, h.number, 'SELECT')
    group by 1, 2, c.relname order by 1, c.relname`
  const wanted = new Map(desired.masked.map((one) => [one.relation.oid, one]))
  const lost = new Map<string, LostRelation[]>()
  for (const { role, oid, numbers } of rows) {
    const one = wanted.get(oid)
    if (!one) continue
    const { relation, twin } = one
    const list = lost.get(role) ?? []
    lost.set(role, list)
    list.push({
      relation: nameRelation(relation.schema, relation.name),
      kind: relation.kind,
      columns: relation.columns.filter(({ number }) => numbers.includes(number)).map(({ name }) => name),
      twin: twin && nameRelation(twin.schema, twin.name),
    })
  }
  return lost
}

async function readSessions(sql: Sql, roles: readonly string[]): Promise<LiveSession[]> {
  return await sql<LiveSession[]>`
    select ${sessionColumns(sql)} from pg_catalog.pg_stat_activity a
    where a.datname = current_database() and a.usename = any(${roles}::text[]::name[])
    order by a.backend_start, a.pid`
}

function sessionColumns(sql: Sql) {
  return sql`
    a.pid::int4 as pid, coalesce(a.usename::text, a.usesysid::text) as role, coalesce(a.application_name, '') as application,
    pg_catalog.host(a.client_addr) as address,
    to_char(a.backend_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since`
}

async function readFunctions(scene: Scene, roles: readonly string[]) {
  const { sql } = scene
  const routines = await readRoutines(scene)
  const readers = readersOf(scene, routines)
  const definers = new Map(routines.filter(({ id }) => readers.has(id)).map((one) => [one.id, one.definer]))
  const names = await sql<{ id: number; name: string }[]>`
    select id, pg_catalog.left(id::oid::regprocedure::text, ${longestSignature}) as name
    from unnest(${[...definers.keys()]}::int8[]) as p(id)`
  const nameOf = new Map(names.map(({ id, name }) => [id, name]))
  const rows = await sql<{ role: string; id: number }[]>`
    select r.rolname::text as role, p.id from unnest(${[...definers.keys()]}::int8[]) as p(id)
    join pg_catalog.pg_roles r on r.rolname = any(${roles}::text[])
    where pg_catalog.has_function_privilege(r.oid, p.id::oid, 'EXECUTE') order by 1, 2`
  const found = new Map<string, { name: string; runsAsOwner: boolean }[]>()
  for (const { role, id } of rows) {
    const name = nameOf.get(id)
    if (name === undefined) continue
    const list = found.get(role) ?? []
    found.set(role, list)
    list.push({ name, runsAsOwner: definers.get(id) ?? false })
  }
  return found
}

/** Sessions that `writeExempt` would list and `findSessions` find: an open cursor would go on returning raw rows. */
async function readWithdrawn(sql: Sql, { snapshot, desired }: Outcome) {
  const { exempt, roles } = snapshot
  if (desired.masked.length === 0 || desired.recordedExempt.includes(everybody)) return []
  const before = snapshot.exemptOids ?? listExemptOids(roles, exempt)
  const after = listExemptOids(roles, desired.recordedExempt)
  const admins = snapshot.adminOids.filter((oid) => !desired.adminOids.includes(oid))
  const isLosing = snapshot.exemptOids === null || before.some((oid) => !after.includes(oid))
  const sessions = await sql<LiveSession[]>`
    select ${sessionColumns(sql)} from pg_catalog.pg_stat_activity a left join pg_catalog.pg_roles r on r.oid = a.usesysid
    where a.datname = current_database() and a.usesysid <> all(${after}::int8[]::oid[])
      and (${exempt.includes(everybody)} or a.usesysid = any(${[...before, ...admins]}::int8[]::oid[]) or ${isLosing} and r.oid is null)
      and r.rolname is distinct from current_user and r.rolsuper is not true
    order by a.backend_start, a.pid`
  return sessions.map((session) => ({ ...session, reason: 'its role loses an exemption' }))
}

/** Transactions of masked roles that are open on a relation of which columns would be hidden. */
async function readOldReaders(sql: Sql, { snapshot, desired }: Outcome) {
  const hidden = findNewlyHidden(startPlan(snapshot, desired))
  const rows = await sql<LiveSession[]>`
    select distinct ${sessionColumns(sql)} from pg_catalog.pg_locks l
    join pg_catalog.pg_stat_activity a on a.pid = l.pid and a.datname = current_database()
      and a.usesysid is not null
    left join pg_catalog.pg_roles r on r.oid = a.usesysid
    where not coalesce(r.rolsuper or r.rolname = current_user or r.rolname = any(${[...desired.exempt]}::text[]), false)
      and l.granted and l.relation = any(${hidden}::int8[]::oid[]) order by pid`
  const reason = 'its transaction is older than a mask, and is ended if it stays open'
  return rows.map((session) => ({ ...session, reason }))
}

function listClosed({ desired, notes }: Outcome): Impact['closed'] {
  return desired.masked
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
