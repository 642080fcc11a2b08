import { quoteQualified } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import { sqlstateOf } from '../../db/sqlstate.ts'
import type { Tx } from '../../db/transaction.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'
import type { ObservedTwin, StrayTwin } from '../catalog.ts'
import { type AclEntry, aclAsJson, listGrants, type RoleNames } from '../grants/read-acl.ts'
import { isOn } from '../read-relations.ts'
import type { FoundRelation } from '../view-flood.ts'
import type { FoundStray } from './find-strays.ts'
import { hashView } from './parsed.ts'

/** As stored: more than one of ours takes. The owner of a view owns its twin, and may comment on it. */
const mostComment = 4000

interface TwinRow extends Omit<ObservedTwin, 'grants' | 'columnGrants'> {
  readonly acl: readonly AclEntry[]
  readonly columnAcls: readonly { readonly column: string; readonly acl: readonly AclEntry[] }[]
}

interface NamedTwin {
  readonly schema: string
  readonly name: string
  /** Its definition is not read, as that takes a lock. */
  readonly isHeld: boolean
}

/**
 * The same where one of them cannot be printed: it has no definition then, and is taken for one that is not as it was made. A type without a
 * dependency, as of an empty array, may be dropped under a twin. The owner of that type must not keep others from their masks.
 */
export async function readPrintableTwins(
  tx: Tx,
  twins: readonly NamedTwin[],
  names: RoleNames,
  version: number,
): Promise<ObservedTwin[]> {
  try {
    return await tx.savepoint(() => readTwins(tx, twins, names, version))
  } catch (error) {
    const printed = twins.filter(({ isHeld }) => !isHeld)
    if (sqlstateOf(error) !== sqlstate.internalError || printed.length === 0) throw error
    const held = twins.filter(({ isHeld }) => isHeld)
    if (printed.length === 1)
      return await readTwins(
        tx,
        [...held, ...printed.map((twin) => ({ ...twin, isHeld: true }))],
        names,
        version,
      )
    // By halves: one of thousands is found by a few statements.
    const half = printed.length >> 1
    return [
      ...(await readPrintableTwins(tx, [...held, ...printed.slice(0, half)], names, version)),
      ...(await readPrintableTwins(tx, printed.slice(half), names, version)),
    ]
  }
}

export async function readTwins(
  tx: Sql,
  twins: readonly NamedTwin[],
  names: RoleNames,
  version: number,
): Promise<ObservedTwin[]> {
  if (twins.length === 0) return []
  // Before 16 every member may take on the role.
  const set = version >= 160000 ? 'SET' : 'MEMBER'
  const rows = await tx<TwinRow[]>`
    select n.nspname::text as schema, c.relname::text as name, o.rolname::text as owner,
      case when pg_catalog.pg_has_role(c.relowner, ${set}) then 'as owner'
        when pg_catalog.pg_has_role(c.relowner, 'USAGE') then 'directly' else 'not' end as managed,
      case when not t.is_held then pg_catalog.pg_get_viewdef(c.oid) end as definition,
      case when not t.is_held then ${tx.unsafe(hashView('c.oid'))} end as parsed,
      array(select distinct d.refobjid::int8 from pg_catalog.pg_depend d join pg_catalog.pg_rewrite w on w.oid = d.objid
        where t.is_held and w.ev_class = c.oid and d.classid = 'pg_catalog.pg_rewrite'::regclass
          and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> c.oid) as reads,
      ${isOn(tx, 'security_barrier')} as "securityBarrier", ${isOn(tx, 'security_invoker')} as "securityInvoker",
      ${aclAsJson(tx, tx`c.relacl`)} as acl,
      (select json_agg(json_build_object('name', a.attname, 'type', pg_catalog.format_type(a.atttypid, a.atttypmod))
        order by a.attnum) from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0) as columns,
      coalesce((select json_agg(json_build_object('column', a.attname, 'acl', ${aclAsJson(tx, tx`a.attacl`)}) order by a.attnum)
        from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and a.attacl is not null), '[]') as "columnAcls",
      coalesce((select json_object_agg(d.objsubid, case when pg_catalog.pg_column_size(d.description) <= ${mostComment} then d.description end) from pg_catalog.pg_description d
        where d.objoid = c.oid and d.classoid = 'pg_catalog.pg_class'::regclass and d.objsubid > 0), '{}') as comments
    from unnest(${twins.map(({ schema }) => schema)}::text[], ${twins.map(({ name }) => name)}::text[],
      ${twins.map(({ isHeld }) => isHeld)}::boolean[]) as t(s, r, is_held)
    join pg_catalog.pg_namespace n on n.nspname = t.s
    join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = t.r
    join pg_catalog.pg_roles o on o.oid = c.relowner`
  return rows.map(({ acl, columnAcls, ...twin }) => ({
    ...twin,
    grants: listGrants(acl, names),
    columnGrants: columnAcls.flatMap((one) =>
      listGrants(one.acl, names).map((grant) => ({ ...grant, column: one.column })),
    ),
  }))
}

/**
 * Their definitions are not read, as that takes a lock. Twins of views that are `unread`, as they may wait, are left out: they belong to
 * the owners of these, which see no raw values.
 */
export async function readStrays(
  tx: Sql,
  found: readonly FoundStray[],
  unread: readonly FoundRelation[],
  names: RoleNames,
  version: number,
): Promise<StrayTwin[]> {
  const waiting = new Set<number | null>(unread.map(({ oid }) => oid))
  const strays = found.filter(({ recordedFor }) => !waiting.has(recordedFor))
  const twins = await readTwins(
    tx,
    strays.map(({ schema, name }) => ({ schema, name, isHeld: true })),
    names,
    version,
  )
  const byName = new Map(twins.map((twin) => [quoteQualified(twin.schema, twin.name), twin]))
  return strays.flatMap((stray) => {
    const twin = byName.get(quoteQualified(stray.schema, stray.name))
    return twin ? [{ ...twin, ...stray }] : []
  })
}
