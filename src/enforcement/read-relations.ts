import type { Sql } from '../db/sql.ts'
import { sqlstateOf } from '../db/sqlstate.ts'
import type { Tx } from '../db/transaction.ts'
import { sqlstate } from '../kernel/sqlstate.ts'
import type { Column, Grant, Relation, RelationKind } from './catalog.ts'
import {
  type AclEntry,
  aclAsJson,
  listGrants,
  listRights,
  nameRoles,
  type RoleNames,
  watchedPrivileges,
  writersAsJson,
} from './grants/read-acl.ts'
import type { Target } from './policy.ts'
import type { Printing } from './print-by-halves.ts'
import { isRestrictive, readDefinitions, readRestrictions } from './read-definitions.ts'
import { selectStamp } from './stamp.ts'
import { type Records, selectRecords } from './twins/find-strays.ts'
import { selectStrangers } from './twins/select-strangers.ts'
import { type FoundRelation, measureView, overLimit, selectReads } from './view-flood.ts'

/** Lower OIDs are of relations that the server has from its beginning: catalogs, and the views of information_schema. */
const firstOfUsers = 16_384

/**
 * The named tables, their parents and other parts, every view over any of these at any depth, and all guarded
 * relations; and, by themselves, those of them that are in schemas of twins, by oid. Temporary relations are left out, as no
 * other session reads them.
 * Relations of the server and of our records are never ours to change, whatever a record says.
 * `guarded`: the schema of our records, or those that the service keeps itself.
 */
export async function findRelations(
  tx: Sql,
  targets: readonly Target[],
  guarded: Records,
  scope: 'all' | 'targets',
  twinOwner: string,
): Promise<{ relations: FoundRelation[]; twins: number[] }> {
  const guards = typeof guarded === 'string' ? tx`${tx(guarded)}.relation` : null
  const kept = typeof guarded === 'string' ? [] : guarded.map(({ oid }) => oid)
  const seeds =
    guards && scope === 'all'
      ? tx`union select oid from ${guards}`
      : kept.length > 0
        ? tx`union select unnest(${kept}::int8[]::oid[])`
        : tx``
  // A view is masked as a whole: whatever else it reads under a mask has to be known too.
  const alsoRead = guards
    ? tx`union all
        select d.refobjid from pg_catalog.pg_rewrite w join pg_catalog.pg_depend d on d.objid = w.oid
        join ${guards} g on g.oid = d.refobjid
        where w.ev_class = reached.oid and d.classid = 'pg_catalog.pg_rewrite'::regclass
          and d.refclassid = 'pg_catalog.pg_class'::regclass`
    : tx``
  const twin = tx`(select x.oid from (${selectRecords(tx, guarded)}) g join pg_catalog.pg_namespace s on s.nspname = g.schema
    join pg_catalog.pg_class x on x.relnamespace = s.oid and x.relname = g.name where g.oid = c.oid)`
  const found = await tx<(FoundRelation & { readonly isTwin: boolean })[]>`
    with recursive named as (
      select c.oid from unnest(${targets.map(({ schema }) => schema)}::text[], ${targets.map(({ table }) => table)}::text[]) as t(s, r)
      join pg_catalog.pg_namespace n on n.nspname = t.s
      join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = t.r
      ${seeds}
    ), reached as (
      select oid from named
      union
      select next.oid from reached, lateral (
        select inhrelid as oid from pg_catalog.pg_inherits where inhparent = reached.oid
        union all
        select inhparent from pg_catalog.pg_inherits where inhrelid = reached.oid
        union all
        select w.ev_class from pg_catalog.pg_depend d join pg_catalog.pg_rewrite w on w.oid = d.objid
        where d.classid = 'pg_catalog.pg_rewrite'::regclass and d.refclassid = 'pg_catalog.pg_class'::regclass
          and d.refobjid = reached.oid and d.deptype = 'n' and w.ev_class <> reached.oid
        ${alsoRead}
      ) next
    )
    select c.oid::int8 as oid, c.relowner::int8 as owner, h.oid is not null as "isTwin",
      case when h.oid is null then ${measureView(tx, twin)} end as view
    from reached join pg_catalog.pg_class c using (oid)
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    left join pg_catalog.pg_roles h on h.oid = n.nspowner and h.rolname = ${twinOwner}
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relpersistence <> 't' and c.oid >= ${firstOfUsers}
      and n.nspname is distinct from ${typeof guarded === 'string' ? guarded : null}
    order by 1`
  return {
    relations: found.filter(({ isTwin }) => !isTwin).map(({ oid, owner, view }) => ({ oid, owner, view })),
    twins: found.filter(({ isTwin }) => isTwin).map(({ oid }) => oid),
  }
}

const kinds: Readonly<Record<string, RelationKind>> = {
  r: 'table',
  p: 'table',
  v: 'view',
  m: 'materialized view',
  f: 'foreign table',
}

interface RelationRow
  extends Omit<
    Relation,
    | 'kind'
    | 'columns'
    | 'definition'
    | 'parsed'
    | 'restrictions'
    | 'obstacle'
    | 'grants'
    | 'rights'
    | 'writers'
  > {
  readonly acl: readonly AclEntry[]
  readonly writing: readonly Pick<AclEntry, 'grantor' | 'grantee'>[]
  readonly relkind: string
  readonly isRestricted: boolean
  /** Of the definition of a view, as stored and compressed. */
  readonly storedBytes: number
}

/**
 * How definitions of views and policies are read, for which PostgreSQL locks relations. `all`: an error ends it all.
 * `careful`: one that cannot be read, as of a locked relation, is marked. `none`: all are marked.
 */
export interface Reading {
  readonly mode: 'all' | 'none' | 'careful'
  readonly locked: ReadonlySet<number>
  /** The limit of other statements, as a setting. */
  readonly statementTimeout: string
  readonly printing: Printing
}

export async function readRelations(
  tx: Tx,
  oids: readonly number[],
  version: number,
  reading: Reading,
  names: RoleNames,
): Promise<Relation[]> {
  // Before 16 every member may take on the role.
  const set = version >= 160000 ? 'SET' : 'MEMBER'
  const reads = tx<RelationRow[]>`
    select c.oid::int8 as oid, n.nspname::text as schema, c.relname::text as name, c.relkind::text as relkind,
      o.rolname::text as owner, c.relrowsecurity as "rowSecurity",
      ${isOn(tx, 'security_barrier')} as "securityBarrier", ${isOn(tx, 'security_invoker')} as "securityInvoker",
      case when me.rolsuper or me.oid = c.relowner then 'directly'
        when pg_catalog.pg_has_role(c.relowner, 'USAGE') and not ${holdsOption(tx)} then 'directly'
        when pg_catalog.pg_has_role(c.relowner, ${set}) then 'as owner' else 'not' end as managed,
      pg_catalog.pg_has_role(c.relowner, ${set}) as settable,
      c.relrowsecurity and exists (select 1 from pg_catalog.pg_policy p where p.polrelid = c.oid
        and ${isRestrictive(tx)}) as "isRestricted",
      c.relrowsecurity and exists (select 1 from pg_catalog.pg_policy p where p.polrelid = c.oid and p.polpermissive
        and p.polcmd in ('*', 'r') and 0 <> all(p.polroles)) as "hasRolePolicies",
      ${aclAsJson(tx, tx`c.relacl`, watchedPrivileges)} as acl,
      ${writersAsJson(tx)} as writing,
      case when c.relkind in ('v', 'm') then (select pg_catalog.pg_column_size(w.ev_action) from pg_catalog.pg_rewrite w
        where w.ev_class = c.oid and w.rulename = '_RETURN') else 0 end as "storedBytes",
      c.relispopulated as "isPopulated", ${selectReads(tx)} as reads,
      array(select inhparent::int8 from pg_catalog.pg_inherits where inhrelid = c.oid) as parents,
      ${selectStrangers(tx)} as strangers, ${selectStamp(tx)} as stamp
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_roles o on o.oid = c.relowner
    join pg_catalog.pg_roles me on me.rolname = current_user
    where c.oid = any(${oids}::oid[])`
  const [rows, columns] = await Promise.all([reads, readColumns(tx, oids)])
  if (reading.mode === 'all') refuseOverlong(rows)
  const isView = ({ relkind }: RelationRow) => relkind === 'v' || relkind === 'm'
  const definitions = await readEach(tx, rows.filter(isView), reading, readDefinitions)
  const restrictions = await readEach(
    tx,
    rows.filter(({ isRestricted }) => isRestricted),
    reading,
    readRestrictions,
  )
  return rows.map(({ relkind, acl, writing, isRestricted, storedBytes: _, ...row }) => {
    const isOfOthers = ({ grantee }: Grant) => grantee !== row.owner
    const own = columns.get(row.oid) ?? []
    const definition = definitions.get(row.oid)
    const restriction = restrictions.get(row.oid)
    return {
      ...row,
      kind: kinds[relkind] ?? 'table',
      grants: listGrants(acl, names).filter(isOfOthers),
      columns: own.map(({ acl: privileges, ...column }) => ({
        ...column,
        acl: listGrants(privileges, names),
      })),
      rights: [
        ...listRights(acl, names, null),
        ...own.flatMap(({ number, acl: privileges }) => listRights(privileges, names, number)),
      ].filter(isOfOthers),
      writers: nameRoles(writing, names),
      definition: definition?.value?.text ?? (definition ? '' : null),
      parsed: definition?.value?.parsed ?? null,
      restrictions: restriction?.value ?? [],
      obstacle: definition?.obstacle ?? restriction?.obstacle ?? null,
    }
  })
}

/**
 * True where the binding holds a grant option of the relation, by itself or by a role that it inherits from. PostgreSQL then takes
 * a REVOKE of a member of the owner for one of the grants that this role made, and leaves those of the owner.
 */
function holdsOption(tx: Sql) {
  return tx`exists (select 1 from pg_catalog.aclexplode(c.relacl) a where a.is_grantable and a.grantee not in (0, c.relowner)
      and pg_catalog.pg_has_role(a.grantee, 'USAGE')
    union all select 1 from pg_catalog.pg_attribute n, pg_catalog.aclexplode(n.attacl) a where n.attrelid = c.oid
      and a.is_grantable and a.grantee not in (0, c.relowner) and pg_catalog.pg_has_role(a.grantee, 'USAGE'))`
}

/** Definitions above the first, as stored, take long to print and to parse; of these not more than the second at once. */
const overlongBytes = 32_768
const mostOverlongBytes = 524_288

/** Closing waits for no definition: where these would take long, everything is closed before any of them is read. */
function refuseOverlong(rows: readonly RelationRow[]): void {
  const overlong = rows.filter(({ storedBytes }) => storedBytes > overlongBytes)
  if (overlong.reduce((sum, { storedBytes }) => sum + storedBytes, 0) > mostOverlongBytes)
    throw overLimit('definitions of views over masked tables are too long to be read at once')
}

type Read<T> = { readonly value: T | undefined; readonly obstacle: Relation['obstacle'] }

/** A view can be made so that printing it takes seconds: so long for all of them together, then for each, then for the rest. */
const allTogetherMs = 700
const oneMs = 200
const restMs = 3000
/** So long a definition is waited for when another session may be holding a lock on what it reads. */
const definitionWaitMs = 20

/** Reads something of each relation for which PostgreSQL locks relations: all together, then, where that fails, one by one. */
async function readEach<T>(
  tx: Tx,
  relations: readonly Pick<Relation, 'oid' | 'reads'>[],
  reading: Reading,
  read: (tx: Tx, oids: readonly number[]) => Promise<Map<number, T>>,
): Promise<Map<number, Read<T>>> {
  const found = new Map<number, Read<T>>()
  const mark = (oid: number, obstacle: Relation['obstacle']) => found.set(oid, { value: undefined, obstacle })
  const keep = (values: Map<number, T>) => {
    for (const [oid, value] of values) found.set(oid, { value, obstacle: null })
  }
  const left: number[] = []
  for (const { oid, reads } of relations)
    if (reading.mode === 'none') mark(oid, 'not asked for')
    else if ([oid, ...reads].some((each) => reading.locked.has(each))) mark(oid, 'locked')
    else left.push(oid)
  if (left.length === 0) return found
  if (reading.mode === 'all') {
    keep(await within(tx, allTogetherMs, reading, () => read(tx, left)))
    return found
  }
  const until = Date.now() + restMs
  await tx
    .savepoint(async () => keep(await within(tx, allTogetherMs, reading, () => read(tx, left))))
    .catch(async () => {
      for (const oid of left)
        if (Date.now() > until) mark(oid, 'unreadable')
        else
          await tx
            .savepoint(async () => {
              await tx`select set_config('lock_timeout', ${String(definitionWaitMs)}, true)`
              keep(await within(tx, oneMs, reading, () => read(tx, [oid])))
            })
            .catch((error: unknown) => {
              mark(oid, sqlstateOf(error) === sqlstate.lockNotAvailable ? 'locked' : 'unreadable')
            })
    })
  return found
}

async function within<T>(
  tx: Tx,
  ms: number,
  { statementTimeout }: Reading,
  run: () => Promise<T>,
): Promise<T> {
  await tx`select set_config('statement_timeout', ${String(ms)}, true)`
  const result = await run()
  await tx`select set_config('statement_timeout', ${statementTimeout}, true)`
  return result
}

export function isOn(tx: Sql, option: string) {
  return tx`coalesce((select option_value::boolean from pg_catalog.pg_options_to_table(c.reloptions)
    where option_name = ${option}), false)`
}

type ColumnRow = Omit<Column, 'acl'> & { readonly acl: readonly AclEntry[] }

async function readColumns(tx: Sql, oids: readonly number[]): Promise<Map<number, ColumnRow[]>> {
  const rows = await tx<(ColumnRow & { relation: number })[]>`
    select a.attrelid::int8 as relation, a.attnum::int as number, a.attname::text as name,
      pg_catalog.format_type(a.atttypid, a.atttypmod) as type,
      pg_catalog.format_type(b.oid, b.modifier) as "baseType",
      case when b.typnamespace = 'pg_catalog'::regnamespace or b.typname = 'citext' and b.typtype = 'b' and exists (
          select 1 from pg_catalog.pg_depend d join pg_catalog.pg_extension x on x.oid = d.refobjid
          where d.classid = 'pg_catalog.pg_type'::regclass and d.objid = b.oid and d.deptype = 'e' and x.extname = 'citext')
        then b.typname::text else '' end as "baseName",
      b.typtype::text as "baseKind", b.modifier, null as legal,
      exists (select 1 from pg_catalog.pg_type e where e.oid = b.typelem and e.typarray = b.oid) as "isArray",
      case when b.checks then a.atttypid::int8 end as "checkedDomain",
      case when a.attcollation <> 0 then (select format('%I.%I', n.nspname, l.collname) from pg_catalog.pg_collation l
        join pg_catalog.pg_namespace n on n.oid = l.collnamespace where l.oid = a.attcollation) end as collation,
      case when b.typtype = 'e' then (select enumlabel::text from pg_catalog.pg_enum
        where enumtypid = b.oid order by enumsortorder limit 1) end as "firstLabel",
      -- Up to 14 the column itself depends on what it is computed from; since, its expression does.
      case when a.attgenerated = '' then '{}' else array(
        select distinct d.refobjsubid from pg_catalog.pg_attrdef e join pg_catalog.pg_depend d
          on d.classid = 'pg_catalog.pg_attrdef'::regclass and d.objid = e.oid
          or d.classid = 'pg_catalog.pg_class'::regclass and d.objid = e.adrelid and d.objsubid = e.adnum
        where e.adrelid = a.attrelid and e.adnum = a.attnum and d.refclassid = 'pg_catalog.pg_class'::regclass
          and d.refobjid = a.attrelid and d.refobjsubid not in (0, a.attnum)) end as "computedFrom",
      ${aclAsJson(tx, tx`a.attacl`, watchedPrivileges)} as acl
    from pg_catalog.pg_attribute a
    cross join lateral (
      with recursive base as (
        select t.oid, t.typname, t.typnamespace, t.typtype, t.typelem, t.typbasetype, t.typtypmod, a.atttypmod as modifier, false as checks
        from pg_catalog.pg_type t where t.oid = a.atttypid
        union all
        select t.oid, t.typname, t.typnamespace, t.typtype, t.typelem, t.typbasetype, t.typtypmod, base.typtypmod,
          base.checks or exists (select 1 from pg_catalog.pg_constraint where contypid = base.oid and contype = 'c')
        from base join pg_catalog.pg_type t on t.oid = base.typbasetype where base.typtype = 'd'
      )
      select * from base where typtype <> 'd'
    ) b
    where a.attrelid = any(${oids}::oid[]) and a.attnum > 0 and not a.attisdropped
    order by a.attrelid, a.attnum`
  const columns = new Map<number, ColumnRow[]>()
  for (const { relation, ...column } of rows) {
    const list = columns.get(relation)
    if (list) list.push(column)
    else columns.set(relation, [column])
  }
  return columns
}
