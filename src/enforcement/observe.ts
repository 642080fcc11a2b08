import { quoteQualified } from '../db/quote.ts'
import type { Sql } from '../db/sql.ts'
import type { Tx } from '../db/transaction.ts'
import type { Closed, Guard, GuardState, NamedRole, Relation, Role, Snapshot } from './catalog.ts'
import type { RoleNames } from './grants/read-acl.ts'
import { recallGuard, type StoredGuard } from './guard/stored-grants.ts'
import { everybody, shadowPrefix } from './names.ts'
import type { Target } from './policy.ts'
import { noneWaiting, readDeferred } from './read-deferred.ts'
import { findRelations, type Reading, readRelations } from './read-relations.ts'
import { readUnread } from './read-unread.ts'
import { readViewSources } from './read-view-sources.ts'
import type { TurnFacts } from './turn-facts.ts'
import { listChosen } from './twins/assign-twin-owners.ts'
import { chooseTwinOwner, readTwinRoles } from './twins/choose-twin-owner.ts'
import { type FoundStray, findStrays } from './twins/find-strays.ts'
import { readEmptied } from './twins/read-emptied.ts'
import { readStrays, readTwins } from './twins/read-twins.ts'
import { recognise, writeTwinMark } from './twins/recognise-twin-roles.ts'
import { type FoundRelation, listUnread, refuseFlood } from './view-flood.ts'

/** What does not depend on the policy: it is read beside it. */
export interface Basics {
  readonly twinRoles: readonly NamedRole[]
  readonly roles: Map<string, Role>
}

export async function readBasics(tx: Tx, facts: TurnFacts): Promise<Basics> {
  const [twinRoles, roles] = await Promise.all([readTwinRoles(tx, facts), readRoles(tx, facts.version)])
  return { twinRoles, roles }
}

/**
 * Reads what the controller needs to know: the tables that rules name, what is part of them, what reads them, what was
 * written down about them, and the roles. Its cost depends on these alone, not on the size of the database. Statements that do
 * not depend on one another are sent together, as the database may be far away.
 */
export async function observe(
  tx: Tx,
  facts: TurnFacts,
  targets: readonly Target[],
  scope: 'all' | 'targets',
  mode: Reading['mode'] = 'all',
  exemptRoles: readonly string[] = [],
  known?: Basics,
): Promise<Snapshot> {
  const { version, database, user, superuser, createsRoles, watched, guard, exempt } = facts
  const { twinRoles: named, roles } = known ?? (await readBasics(tx, facts))
  const twinRoles = await recognise(tx, named, facts, facts.twinKeepers, facts.twinKeys)
  const { name: twinOwner } = chooseTwinOwner(facts, twinRoles)
  const serving = listChosen({ ...facts, twinRoles })
  const records = guard.isThere ? guard.schema : facts.kept
  const { relations: found, twins: foundTwins } = await findRelations(tx, targets, records, scope, twinOwner)
  if (mode === 'all') refuseFlood(found)
  const everything = found.map(({ oid }) => oid)
  const { deferred, foreign } = mode === 'all' ? noneWaiting : await readDeferred(tx, everything, exemptRoles)
  // What the service keeps records of is read: else it would count as gone, and its records with it.
  const kept = new Set(facts.kept.map(({ oid }) => oid))
  const optional = found.filter(({ oid }) => foreign.has(oid) && !kept.has(oid))
  const waiting = optional.filter(({ oid }) => deferred.has(oid))
  const others = facts.closesAll ? [] : optional.filter(({ oid }) => !deferred.has(oid))
  // Closing comes before everything else, and there is nothing to close at views that may wait. What is too wide is closed later.
  const unread = mode === 'none' ? [...waiting, ...listUnread(others)] : listUnread(waiting)
  const left = new Set(unread)
  const oids = found.filter((one) => !left.has(one)).map(({ oid }) => oid)
  const names: RoleNames = new Map([...roles.values()].map(({ oid, name }) => [oid, name]))
  const locked: ReadonlySet<number> = mode === 'careful' ? await readLocked(tx) : new Set()
  const { statementTimeout, printing = {} } = facts
  const reading: Reading = { mode, locked, statementTimeout, printing }
  const [guards, surroundings, relations, strays, emptied] = await Promise.all([
    guard.isThere
      ? readGuards(tx, guard, oids, names, scope)
      : facts.kept.map((row) => recallGuard(row, names)),
    readSurroundings(tx, facts, { oids, twinOwner, serving, exemptRoles }),
    readRelations(tx, oids, version, reading, names),
    findStrays(tx, {
      relations: everything,
      twins: foundTwins,
      records,
      twinOwner,
      version,
      isWhole: scope === 'all',
    }),
    scope === 'all' ? readEmptied(tx, twinOwner) : [],
  ])
  const ours = [...twinRoles.filter(({ name, isOurs }) => isOurs || name === twinOwner), ...serving]
  const wide = await findWideStrays(tx, strays, { found, ours, mode, exemptRoles })
  const skipped = new Set([...unread, ...wide].map(({ oid }) => oid))
  const wideNames = new Set(strays.filter(({ oid }) => skipped.has(oid)).map(keyOf))
  const held = new Set(relations.filter((one) => isHeld(one, mode, locked)).map(({ oid }) => oid))
  return {
    version,
    database,
    user,
    superuser,
    createsRoles,
    watched,
    guard,
    exempt,
    exemptOids: facts.exemptOids,
    adminOids: facts.adminOids,
    guardReaders: facts.guardReaders,
    guardedOwners: facts.guardedOwners,
    relations,
    guards,
    held,
    deferred,
    isWhole: scope === 'all',
    unreadViews: await readUnread(tx, [...skipped]),
    // What stays open is told by the turn that has closed the rest.
    viewSources: mode === 'none' ? new Map() : await readViewSources(tx, relations, deferred),
    twins: await readTwins(
      tx,
      guards.flatMap(({ oid, twin }) =>
        twin && !skipped.has(oid) && !wideNames.has(keyOf(twin)) ? [{ ...twin, isHeld: held.has(oid) }] : [],
      ),
      names,
      version,
      reading,
    ),
    strays: await readStrays(tx, strays, [...unread, ...wide], names, version),
    emptied,
    roles,
    departure: null,
    twinOwner,
    twinRoles,
    writeTwinMark: (oid) => writeTwinMark(oid, facts.twinKeys),
    ...surroundings,
  }
}

const keyOf = ({ schema, name }: Pick<FoundStray, 'schema' | 'name'>) => quoteQualified(schema, name)

/**
 * Twins of views that were dropped, and the like, with too many columns and grants to be read. Their owners see no raw values, and could
 * hold up everything else by them. `ours`: owners of twins that are in use.
 */
async function findWideStrays(
  tx: Sql,
  strays: readonly FoundStray[],
  {
    found,
    ours,
    mode,
    exemptRoles,
  }: {
    found: readonly FoundRelation[]
    ours: readonly { readonly oid: number }[]
    mode: Reading['mode']
    exemptRoles: readonly string[]
  },
): Promise<FoundRelation[]> {
  const owners = new Set(ours.map(({ oid }) => oid))
  const loose = strays.flatMap(({ recordedFor, measured }) =>
    recordedFor === null && !owners.has(measured.owner) ? [measured] : [],
  )
  if (loose.length === 0) return []
  if (mode === 'all') {
    refuseFlood([...found, ...loose])
    return []
  }
  const oids = [...found, ...loose].map(({ oid }) => oid)
  const { deferred } = await readDeferred(tx, oids, exemptRoles)
  return listUnread(loose.filter(({ oid }) => deferred.has(oid)))
}

/** Its twin can neither be compared nor changed. */
function isHeld({ oid, obstacle }: Relation, mode: Reading['mode'], locked: ReadonlySet<number>): boolean {
  return mode === 'none' || obstacle === 'locked' || locked.has(oid)
}

async function readGuards(
  tx: Sql,
  { schema, isCurrent }: GuardState,
  oids: readonly number[],
  names: RoleNames,
  scope: 'all' | 'targets',
): Promise<Guard[]> {
  // A look at everything finds the records of dropped relations; for some tables it would have to read them all.
  const dropped = tx`or oid not in (select oid from pg_catalog.pg_class)`
  // Records of an earlier release may have no such columns.
  const rights = isCurrent
    ? tx`rights, acl_order as "order"`
    : tx`to_jsonb(relation) -> 'rights' as rights, to_jsonb(relation) -> 'acl_order' as "order"`
  const rows = await tx<StoredGuard[]>`
    select oid::int8 as oid, grants, column_grants as "columnGrants", ${rights}, pins, lent, hides_all as "hidesAll", twin
    from ${tx(schema)}.relation where oid = any(${oids}::oid[]) ${scope === 'all' ? dropped : tx``}`
  return rows.map((row) => recallGuard(row, names))
}

/** A member holds a role when it may SET ROLE to it or inherits from it; since 16 an ADMIN option alone gives neither. */
export async function readRoles(tx: Sql, version: number): Promise<Map<string, Role>> {
  const holds = version >= 160000 ? tx`and (m.inherit_option or m.set_option)` : tx``
  const rows = await tx<Role[]>`
    select r.oid::int8 as oid, r.rolname::text as name, r.rolsuper as superuser,
      array_remove(array[case when r.rolcanlogin then 'NOLOGIN' end, case when r.rolsuper then 'NOSUPERUSER' end,
        case when r.rolbypassrls then 'NOBYPASSRLS' end, case when r.rolcreaterole then 'NOCREATEROLE' end,
        case when r.rolcreatedb then 'NOCREATEDB' end, case when r.rolreplication then 'NOREPLICATION' end], null) as excess,
      array(select g.rolname::text from pg_catalog.pg_auth_members m
        join pg_catalog.pg_roles g on g.oid = m.roleid where m.member = r.oid ${holds}) as "memberOf",
      array(select distinct g.rolname::text from pg_catalog.pg_auth_members m
        join pg_catalog.pg_roles g on g.oid = m.roleid where m.member = r.oid and m.admin_option) as administers
    from pg_catalog.pg_roles r`
  return new Map(rows.map((role) => [role.name, role]))
}

/** An ACCESS EXCLUSIVE lock that is waited for keeps us waiting too. Prepared transactions hold theirs without a process. */
async function readLocked(tx: Sql): Promise<Set<number>> {
  const rows = await tx<{ oid: number }[]>`
    select distinct relation::int8 as oid from pg_catalog.pg_locks
    where locktype = 'relation' and mode = 'AccessExclusiveLock' and pid is distinct from pg_catalog.pg_backend_pid()
      and database = (select oid from pg_catalog.pg_database where datname = current_database())`
  return new Set(rows.map(({ oid }) => oid))
}

/** By one statement, because each one costs a round trip and a plan. */
async function readSurroundings(
  tx: Sql,
  { superuser, createsRoles, guard }: TurnFacts,
  {
    oids,
    twinOwner,
    serving,
    exemptRoles,
  }: {
    oids: readonly number[]
    twinOwner: string
    serving: ReturnType<typeof listChosen>
    exemptRoles: readonly string[]
  },
) {
  const canCreate = superuser || createsRoles
  const [row] = await tx<
    {
      generous: string[]
      shadows: { name: string; owner: string; makers: string[] }[]
      closedSchemas: (Closed & { oid: number })[]
      closedTypes: Closed[]
      exemptGrantees: string[]
    }[]
  >`
    with twins as materialized (
      select oid from pg_catalog.pg_roles where rolname = ${twinOwner}
    ), reader as materialized (
      -- The owner of the twins of what each role owns; null: it is not there yet.
      select o.oid as owner, case when (o.rolsuper or o.rolname = current_user) and ${canCreate} then (select oid from twins)
        else coalesce(s.reader, case when not ${canCreate} then (select oid from twins) end) end as oid
      from pg_catalog.pg_roles o
      left join unnest(${serving.map(({ served }) => served)}::int8[]::oid[], ${serving.map(({ oid }) => oid)}::int8[]::oid[])
        as s(served, reader) on s.served = o.oid
      where o.oid in (select relowner from pg_catalog.pg_class where oid = any(${oids}::oid[]))
    )
    select array(
        select r.rolname::text from pg_catalog.pg_default_acl d join pg_catalog.pg_roles r on r.oid = d.defaclrole
        where d.defaclobjtype = 'r') as generous,
      coalesce((select jsonb_agg(jsonb_build_object('name', n.nspname, 'owner', o.rolname, 'makers', array(
          select coalesce(m.rolname, ${everybody}) from pg_catalog.aclexplode(n.nspacl) a
          left join pg_catalog.pg_roles m on m.oid = a.grantee
          where a.privilege_type = 'CREATE' and a.grantee <> n.nspowner and (a.grantee = 0 or m.oid is not null)))) from pg_catalog.pg_namespace n
        join pg_catalog.pg_roles o on o.oid = n.nspowner where pg_catalog.starts_with(n.nspname, ${shadowPrefix})), '[]') as shadows,
      coalesce((${selectClosedSchemas(tx, oids)}), '[]') as "closedSchemas",
      coalesce((${selectClosedTypes(tx, oids)}), '[]') as "closedTypes",
      array(select r.rolname::text from pg_catalog.pg_roles r where r.rolname = any(${exemptRoles}::text[]) and exists (
        select 1 from pg_catalog.pg_shdepend d
        where d.refclassid = 'pg_catalog.pg_authid'::regclass and d.refobjid = r.oid
          and d.dbid = (select oid from pg_catalog.pg_database where datname = current_database())
          and not (d.classid = 'pg_catalog.pg_namespace'::regclass and exists (
            select 1 from pg_catalog.pg_namespace n where n.oid = d.objid and n.nspname = ${guard.schema}))
          and not (d.classid = 'pg_catalog.pg_class'::regclass and exists (
            select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            where c.oid = d.objid and n.nspname = ${guard.schema})))) as "exemptGrantees"`
  return {
    generous: new Set(row?.generous),
    shadowSchemas: new Map(row?.shadows.map(({ name, owner }) => [name, owner])),
    shadowMakers: new Map(row?.shadows.map(({ name, makers }) => [name, makers])),
    closedSchemas: row?.closedSchemas ?? [],
    closedTypes: row?.closedTypes ?? [],
    exemptGrantees: row?.exemptGrantees ?? [],
  }
}

/** Schemas of the relations, of the types of their columns, and of the collations of these. */
function selectClosedSchemas(tx: Sql, oids: readonly number[]) {
  return tx`
    select jsonb_agg(jsonb_build_object('oid', oid::int8, 'name', name, 'relations', relations) order by name) from (
      with used as materialized (
        select relnamespace as oid, oid as relation from pg_catalog.pg_class where oid = any(${oids}::oid[])
        union select t.typnamespace, a.attrelid from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
          where a.attrelid = any(${oids}::oid[]) and a.attnum > 0
        union select l.collnamespace, a.attrelid from pg_catalog.pg_attribute a
          join pg_catalog.pg_collation l on l.oid = a.attcollation
          where a.attrelid = any(${oids}::oid[]) and a.attnum > 0
      ), closed as materialized (
        select r.owner, n.oid, n.nspname from reader r, pg_catalog.pg_namespace n
        where n.oid in (select oid from used) and not coalesce(
          has_schema_privilege(r.oid, n.oid, 'USAGE'), has_schema_privilege('public', n.oid, 'USAGE'))
      )
      select closed.oid, closed.nspname as name, array_agg(used.relation::int8) as relations
      from closed join used using (oid) join pg_catalog.pg_class c on c.oid = used.relation and c.relowner = closed.owner
      group by 1, 2
    ) s`
}

function selectClosedTypes(tx: Sql, oids: readonly number[]) {
  return tx`
    select jsonb_agg(jsonb_build_object('name', name, 'relations', relations) order by name) from (
      select format('%I.%I', n.nspname, t.typname) as name, array_agg(distinct a.attrelid::int8) as relations
      from pg_catalog.pg_attribute a
      join pg_catalog.pg_class c on c.oid = a.attrelid
      join reader r on r.owner = c.relowner
      join pg_catalog.pg_type o on o.oid = a.atttypid
      join pg_catalog.pg_type t on t.oid in (o.oid, o.typbasetype, o.typelem) and t.typelem = 0
      join pg_catalog.pg_namespace n on n.oid = t.typnamespace
      where a.attrelid = any(${oids}::oid[]) and a.attnum > 0 and n.nspname <> 'pg_catalog'
        and not coalesce(has_type_privilege(r.oid, t.oid, 'USAGE'), has_type_privilege('public', t.oid, 'USAGE'))
      group by 1
    ) t`
}
