import { quoteIdentifier } from '../../db/quote.ts'
import type { Query, Row, Sql } from '../../db/sql.ts'
import { kind, type Scene } from './exposure.ts'
import { type Expression, readExpressions, readSources } from './expressions.ts'
import { joinStatements } from './role-book.ts'
import { listMakers } from './seers.ts'
import { treeText } from './stored-trees.ts'
import { addWriters } from './writers.ts'

/** A foreign key, and a table whose change makes it do something with rows of a masked table, directly or by other keys. */
export interface KeyChange {
  /** Of the masked table. */
  readonly oid: number
  /** Of the key that the owner of the table declared; a partitioned table that it refers to has more. */
  readonly name: string
  readonly parent: number
  readonly parentName: string
  readonly parentOwner: string
  readonly isDelete: boolean
  /** The columns whose update counts. */
  readonly parentKey: readonly number[]
}

interface ActionRow extends KeyChange {
  /** The columns that the action sets. */
  readonly changed: readonly string[]
  /** Those that it may set to null. */
  readonly nullable: readonly string[]
  /** The table and its partitions, whose constraints all count. */
  readonly parts: readonly number[]
  /** Columns that must not be null, of any part. */
  readonly required: readonly { readonly oid: number; readonly name: string }[]
  /** Columns of the keys of partitions, at any level. */
  readonly partitionKey: readonly string[]
  /** The table is a partition itself, and the action can move a row out of its bounds. */
  readonly leavesBounds: boolean
}

interface Found {
  readonly oid: number
  readonly name: string
  readonly parents: readonly string[]
  readonly roles: readonly string[]
  readonly revokes: readonly string[]
  /** A masked role owns a parent: it needs no grant. */
  readonly isOwned: boolean
}

/**
 * PostgreSQL runs CASCADE, SET NULL and SET DEFAULT as the owner of the referring table, and past its row policies. An error
 * about a row that the action made invalid then prints the whole row to the role that changed the other table.
 */
export const failingKeyAction = kind<Found>({
  code: 'FailingRow',
  severity: 'high',
  async read(scene) {
    const mayFail = await readFailures(scene)
    const rows = (await readActions(scene)).filter(mayFail)
    const written = await addChangers(scene, rows)
    return [...Map.groupBy(written, ({ row }) => JSON.stringify([row.oid, row.name])).values()].flatMap(merge)
  },
  describe: ({ relation, name, parents, revokes, isOwned }) => ({
    objects: [
      relation,
      { kind: 'constraint', name: quoteIdentifier(name) },
      ...parents.map((one) => ({ kind: 'table', name: one })),
    ],
    explanation: `The foreign key changes rows of the table as its owner when ${parents.join(', ')} changes, and these roles may change that: an error about a row that is then refused prints the whole row, raw values included, whether or not the table has row security. Declaring the key anew without its action (ON UPDATE, ON DELETE) ends it, and so does revoking the right to change ${parents.join(', ')}.`,
    remedy: isOwned
      ? `ALTER TABLE ${relation.name} DROP CONSTRAINT ${quoteIdentifier(name)}`
      : joinStatements(revokes),
  }),
})

interface Written<Row extends KeyChange> {
  readonly row: Row
  readonly roles: readonly string[]
  readonly revokes: readonly string[]
  readonly isOwned: boolean
}

/** Of the changes that make one key act. */
export function merge<Row extends KeyChange>(same: readonly Written<Row>[]): (Found & { first: Row })[] {
  const open = same.filter(({ roles }) => roles.length > 0)
  const [first] = open
  if (!first) return []
  const all = <T>(of: (one: Written<Row>) => readonly T[]) => [...new Set(open.flatMap(of))]
  return [
    {
      first: first.row,
      oid: first.row.oid,
      name: first.row.name,
      parents: all(({ row }) => [row.parentName]),
      roles: all(({ roles }) => roles),
      revokes: all(({ revokes }) => revokes),
      isOwned: open.some(({ isOwned }) => isOwned),
    },
  ]
}

/** Adds the masked roles that may make the change, by a grant or as owners of the other table. */
export async function addChangers<Row extends KeyChange>(
  scene: Scene,
  rows: readonly Row[],
): Promise<Written<Row>[]> {
  return [...(await addParents(scene, rows, true)), ...(await addParents(scene, rows, false))]
}

async function addParents<Row extends KeyChange>(
  scene: Scene,
  rows: readonly Row[],
  isDelete: boolean,
): Promise<Written<Row>[]> {
  const { book, byOid } = scene
  const changes = rows
    .filter((row) => row.isDelete === isDelete)
    .map((row, at) => ({
      row,
      oid: row.parent,
      kind: `key ${at}`,
      columns: [],
      others: row.parentKey.map((number) => ({ number, name: '' })),
    }))
  const found = await addWriters(scene, changes, [isDelete ? 'DELETE' : 'UPDATE'])
  return found.map(({ row, roles, remedies }) => {
    const owner = byOid.get(row.oid)?.owner ?? ''
    const owners = listMakers(scene, row.parentOwner, owner)
    const granted = roles.filter((role) => !book.reaches(role, owner))
    return {
      row,
      roles: [...new Set([...owners, ...granted])],
      revokes: granted.length > 0 ? remedies : [],
      isOwned: owners.length > 0,
    }
  })
}

/** Returns whether a row may become invalid by the action, and show a hidden column that the action does not set. */
async function readFailures(scene: Scene): Promise<(row: ActionRow) => boolean> {
  const { sql, version, byOid, oids } = scene
  // PostgreSQL evaluates all checks of a new row. Those of other columns hold still, unless they are not valid for all rows, or
  // ask for more than the row: functions that are not immutable, or that only say so.
  const checks = await readExpressions(
    scene,
    sql`select k.conrelid as oid, k.conname::text as name, t.tree,
        case when not k.convalidated or t.tree is null then 'moving'
          when t.tree ~ '[{](SQLVALUEFUNCTION|COERCEVIAIO) ' or exists (
            select 1 from pg_catalog.regexp_matches(t.tree, ':(?:op)?funcid ([0-9]+)', 'g') m
            join pg_catalog.pg_proc p on p.oid = m[1]::oid where p.provolatile <> 'i' or p.oid >= 16384)
          then 'moving' else 'fixed' end as kind
      from pg_catalog.pg_constraint k cross join lateral (select ${treeText(sql, sql`k.conbin`)} as tree) t where k.contype = 'c' and k.conrelid = any(${oids}::oid[])
        and ${version >= 180000 ? sql`k.conenforced` : sql`true`}`,
  )
  const withSources = await readSources(scene)
  const names = (expression: Pick<Expression, 'oid' | 'columns'>) =>
    withSources(expression).columns.map(({ name }) => name)
  return ({ oid, changed, nullable, parts, required, partitionKey, leavesBounds }) => {
    const hidden = (byOid.get(oid)?.hidden ?? [])
      .map(({ name }) => name)
      .filter((name) => !changed.includes(name))
    if (hidden.length === 0) return false
    const isChanged = (name: string) => changed.includes(name)
    const isRequired = (one: { oid: number; name: string }) =>
      nullable.includes(one.name) ||
      (!isChanged(one.name) &&
        names({ oid: one.oid, columns: [{ number: 0, name: one.name }] }).some(isChanged))
    return (
      leavesBounds ||
      required.some(isRequired) ||
      (partitionKey.some(isChanged) && partitionKey.some((name) => hidden.includes(name))) ||
      checks.some(
        (check) => parts.includes(check.oid) && (check.kind === 'moving' || names(check).some(isChanged)),
      )
    )
  }
}

/** By the triggers that run the actions: of the keys of partitions, some have none. */
export function selectActions(sql: Sql, condition: Query<Row[]>) {
  return sql`
    select k.oid, k.confrelid as parent, k.confkey, f.proname ~ '_del$' as is_delete,
      pg_catalog.split_part(f.proname, '_', 3) as does,
      case when f.proname = 'RI_FKey_cascade_del' then '{}'::int2[]
        when f.proname ~ '_del$' then coalesce((select pg_catalog.array_agg(x::int2)
          from jsonb_array_elements_text(nullif(to_jsonb(k) -> 'confdelsetcols', 'null')) x), k.conkey)
        else k.conkey end as changed
    from pg_catalog.pg_constraint k join pg_catalog.pg_trigger t on t.tgconstraint = k.oid and t.tgrelid = k.confrelid
    join pg_catalog.pg_proc f on f.oid = t.tgfoid and f.proname ~ '^RI_FKey_(cascade|setnull|setdefault)_(del|upd)$'
    where k.contype = 'f' and t.tgenabled <> 'D' and ${condition}`
}

/** Begins at masked tables: other roles may have any number of keys of their own. */
async function readActions({ sql, oids }: Scene): Promise<ActionRow[]> {
  return await sql<ActionRow[]>`
    with recursive path as (
      select a.oid as key, a.does as start, a.changed, a.parent, a.is_delete, a.confkey
      from (${selectActions(sql, sql`k.conrelid = any(${oids}::oid[])`)}) a where a.changed <> '{}'
      union
      select p.key, p.start, p.changed, a.parent, a.is_delete, a.confkey
      from path p cross join lateral (${selectActions(sql, sql`k.conrelid = p.parent`)}) a
      where case when p.is_delete then a.is_delete and a.does = 'cascade' else a.changed && p.confkey end
    )
    select c.oid::int8 as oid, top.name, p.parent::int8 as parent, p.is_delete as "isDelete",
      pg_catalog.format('%I.%I', n.nspname, t.relname) as "parentName", o.rolname::text as "parentOwner",
      case when p.is_delete then array(select a.attnum::int4 from pg_catalog.pg_attribute a where a.attrelid = p.parent and a.attnum > 0)
        else p.confkey::int4[] end as "parentKey",
      array(select a.attname::text from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum = any(p.changed)) as changed,
      array(select a.attname::text from unnest(k.conkey, k.confkey) u(near, far)
        join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = u.near
        join pg_catalog.pg_attribute b on b.attrelid = k.confrelid and b.attnum = u.far
        where u.near = any(p.changed) and case p.start when 'setnull' then true when 'setdefault' then not a.atthasdef
          else not b.attnotnull end) as nullable,
      below.parts::int8[] as parts,
      coalesce((select jsonb_agg(jsonb_build_object('oid', a.attrelid::int8, 'name', a.attname)) from pg_catalog.pg_attribute a
        where a.attrelid = any(below.parts) and a.attnum > 0 and a.attnotnull and not a.attisdropped), '[]') as required,
      array(select distinct a.attname::text from pg_catalog.pg_partitioned_table s
        join pg_catalog.pg_attribute a on a.attrelid = s.partrelid and a.attnum = any(s.partattrs::int2[])
        where s.partrelid = any(below.parts)) as "partitionKey",
      c.relispartition and exists (
        select 1 from (with recursive above as (
          select i.inhparent from pg_catalog.pg_inherits i where i.inhrelid = c.oid
          union select i.inhparent from above b join pg_catalog.pg_inherits i on i.inhrelid = b.inhparent) select * from above) b
        join pg_catalog.pg_partitioned_table s on s.partrelid = b.inhparent
        left join pg_catalog.pg_attribute a on a.attrelid = s.partrelid and a.attnum = any(s.partattrs::int2[])
        where 0 = any(s.partattrs::int2[]) or a.attname in (select d.attname from pg_catalog.pg_attribute d
          where d.attrelid = c.oid and d.attnum = any(p.changed))) as "leavesBounds"
    from path p join pg_catalog.pg_constraint k on k.oid = p.key join pg_catalog.pg_class c on c.oid = k.conrelid
    cross join lateral (with recursive up as (
        select k.conname, k.conparentid
        union all select y.conname, y.conparentid from up join pg_catalog.pg_constraint y on y.oid = up.conparentid)
      select conname::text as name from up where conparentid = 0) top
    cross join lateral (select array(with recursive below as (
        select c.oid union select i.inhrelid from below b join pg_catalog.pg_inherits i on i.inhparent = b.oid where c.relkind = 'p')
      select oid from below) as parts) below
    join pg_catalog.pg_class t on t.oid = p.parent join pg_catalog.pg_namespace n on n.oid = t.relnamespace
    join pg_catalog.pg_roles o on o.oid = t.relowner order by 1, 2, 3, 4`
}
