import type { Database } from '../../db/database.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import { apply } from '../apply.ts'
import { selectGuard } from '../guard/find-guard.ts'
import { markPrefix } from '../logins/mark.ts'
import { driftTrigger } from '../names.ts'
import { listServing } from '../twins/assign-twin-owners.ts'
import { chooseTwinOwner, readTwinOwnerFacts } from '../twins/choose-twin-owner.ts'
import { dropTwinOwners } from '../twins/drop-twin-owner.ts'
import { droppedWith, writeDrop } from '../twins/dropped-with.ts'
import { ownsOthers, readDeparture } from '../twins/read-departure.ts'
import { lookAtTwinRoles } from '../twins/recognise-twin-roles.ts'

/** Something of ours that is in a database, or on its server. */
export interface Leftover {
  readonly kind: 'schema' | 'event trigger' | 'role' | 'login role'
  readonly name: string
  /** Removes it; for an operator, where the role of the binding may not. */
  readonly statement: string
  /** It holds nothing here: a role that an operator prepared, or that a restored copy on the same server still uses. */
  readonly isHarmless: boolean
}

type FoundLeftover = Omit<Leftover, 'statement'> & {
  readonly ownsOthers: boolean
  /** What a drop of a schema with CASCADE would drop beside twins. */
  readonly others: readonly string[]
}

/** Everything of ours in the database: what a restore removes, and what it could not remove. */
export async function findLeftovers(sql: Sql, databaseId: string): Promise<Leftover[]> {
  const { home, serving } = await listTwinOwners(sql)
  const twins = sql`
    select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace s on s.oid = c.relnamespace
    join pg_catalog.pg_roles h on h.oid = s.nspowner where h.rolname = ${home} and c.relkind = 'v'`
  const rows = await sql<FoundLeftover[]>`
    select 'schema' as kind, n.nspname::text as name, false as "isHarmless", false as "ownsOthers", '{}'::text[] as others
    from pg_catalog.pg_namespace n where n.oid in (select oid from (${selectGuard(sql)}) g)
    union all
    select 'schema', n.nspname::text, false, false, ${droppedWith(sql, twins)}
    from pg_catalog.pg_namespace n join pg_catalog.pg_roles o on o.oid = n.nspowner
    where o.rolname = ${home} and n.oid not in (select oid from (${selectGuard(sql)}) g)
    union all
    select 'event trigger', evtname::text, false, false, '{}' from pg_catalog.pg_event_trigger where evtname = ${driftTrigger}
    union all
    select 'role', r.rolname::text, not exists (select 1 from pg_catalog.pg_shdepend d
      where d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass and d.refobjid = r.oid
        and d.dbid in (0, (select oid from pg_catalog.pg_database where datname = current_database()))), ${ownsOthers(sql)}, '{}'
    from pg_catalog.pg_roles r where r.rolname = any(${[home, ...serving]}::text[])
    union all
    select 'login role', r.rolname::text, false, ${ownsOthers(sql)}, '{}' from pg_catalog.pg_roles r
    where pg_catalog.starts_with(pg_catalog.shobj_description(r.oid, 'pg_authid'), ${markPrefix(databaseId)})
    order by 1, 2`
  return rows.map(({ ownsOthers: isOwner, others, ...row }) => ({
    ...row,
    statement: describeRemoval(row, isOwner, others),
  }))
}

/** PostgreSQL refuses to drop a role that owns more than twins, and says what: any role with CREATEROLE can name one of its own like ours. */
function describeRemoval(
  { kind, name }: Omit<Leftover, 'statement'>,
  isOwner: boolean,
  others: readonly string[],
): string {
  const quoted = quoteIdentifier(name)
  if (kind === 'schema') return writeDrop(name, others)
  if (kind === 'event trigger') return `DROP EVENT TRIGGER ${quoted}`
  if (isOwner) return `DROP ROLE ${quoted}`
  return `DROP OWNED BY ${quoted}; DROP ROLE ${quoted}`
}

/** The role that owns the schemas of twins, and those that own the twins of one owner's tables each. */
async function listTwinOwners(sql: Sql): Promise<{ home: string; serving: string[] }> {
  const facts = await readTwinOwnerFacts(sql)
  const twinRoles = await lookAtTwinRoles(sql, facts)
  const serving = listServing({ ...facts, twinRoles }).map(({ name }) => name)
  return { home: chooseTwinOwner(facts, twinRoles).name, serving }
}

/**
 * Drops the owners of the twins where a restore was interrupted after its views were gone. Each statement by itself: what
 * the role of the binding may not drop stays, and is reported. There is no key to read marks by: a role that owns more than
 * twins stays as well.
 */
export async function dropLeftOwners(database: Database, leftovers: readonly Leftover[]): Promise<void> {
  const roles = leftovers.filter(({ kind }) => kind === 'role').map(({ name }) => name)
  if (roles.length === 0 || leftovers.some(({ kind }) => kind === 'schema')) return
  await database.transaction(async (tx) => {
    const { home } = await listTwinOwners(tx)
    const departure = await readDeparture(tx, home, roles)
    const orElse = { sql: 'SELECT 1', why: 'the role of the binding does not inherit from it' }
    const revokes = departure.roles
      .filter((one) => !one.ownsOthers)
      .map(({ role }) => ({
        sql: `DROP OWNED BY ${quoteIdentifier(role)}`,
        why: 'its privileges in this database',
        orElse,
      }))
    await apply(tx, [...revokes, ...dropTwinOwners(home, departure, new Set())])
  })
}
