import { quoteQualified } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import type { Tx } from '../../db/transaction.ts'
import type { ObservedTwin, StrayTwin, Twin } from '../catalog.ts'
import { type AclEntry, aclAsJson, listGrants, type RoleNames } from '../grants/read-acl.ts'
import { isOn, type Reading } from '../read-relations.ts'
import type { FoundRelation } from '../view-flood.ts'
import type { FoundStray } from './find-strays.ts'
import { printCarefully, printTwins, unprintable } from './print-twins.ts'

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

type RecordedTwin = NamedTwin & Pick<Twin, 'made' | 'parsed' | 'rule'>

/** `reading.mode`: `careful` where a twin that cannot be printed keeps no other from being read. */
export async function readTwins(
  tx: Tx,
  twins: readonly RecordedTwin[],
  names: RoleNames,
  version: number,
  reading: Reading,
): Promise<ObservedTwin[]> {
  const free = twins.filter(({ isHeld }) => !isHeld)
  const [seen, together] = await Promise.all([
    readUnprinted(tx, twins, names, version),
    reading.mode === 'careful' ? null : printTwins(tx, free, reading),
  ])
  const byKey = new Map(seen.map((twin) => [keyOf(twin), twin]))
  const ownerOf = (twin: Pick<NamedTwin, 'schema' | 'name'>) => byKey.get(keyOf(twin))?.owner ?? ''
  const printed = together ?? (await printCarefully(tx, free, ownerOf, reading))
  for (const twin of free) setPrint(byKey, keyOf(twin), unprintable)
  for (const { definition, parsed, ...twin } of printed) setPrint(byKey, keyOf(twin), { definition, parsed })
  return [...byKey.values()]
}

const keyOf = ({ schema, name }: Pick<NamedTwin, 'schema' | 'name'>) => quoteQualified(schema, name)

function setPrint(
  byKey: Map<string, ObservedTwin>,
  key: string,
  print: Pick<ObservedTwin, 'definition' | 'parsed'>,
): void {
  const twin = byKey.get(key)
  if (twin) byKey.set(key, { ...twin, ...print })
}

/** Without a look at definitions, which takes a lock. */
async function readUnprinted(
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
      null as definition, null as parsed,
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
 * Their definitions are not read, as that takes a lock. Those that are `unread`, as they may wait, and twins of such views are left
 * out: they belong to the owners of these, which see no raw values.
 */
export async function readStrays(
  tx: Sql,
  found: readonly FoundStray[],
  unread: readonly FoundRelation[],
  names: RoleNames,
  version: number,
): Promise<StrayTwin[]> {
  const waiting = new Set<number | null>(unread.map(({ oid }) => oid))
  const strays = found.filter(({ oid, recordedFor }) => !waiting.has(recordedFor ?? oid))
  const twins = await readUnprinted(
    tx,
    strays.map(({ schema, name }) => ({ schema, name, isHeld: true })),
    names,
    version,
  )
  const byName = new Map(twins.map((twin) => [quoteQualified(twin.schema, twin.name), twin]))
  return strays.flatMap(({ measured: _, ...stray }) => {
    const twin = byName.get(quoteQualified(stray.schema, stray.name))
    return twin ? [{ ...twin, ...stray }] : []
  })
}
