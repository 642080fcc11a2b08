import { quoteIdentifier } from '../../db/quote.ts'
import { kind, type Scene } from './exposure.ts'
import { addChangers, type KeyChange, merge, selectActions } from './failing-key-actions.ts'
import { joinStatements } from './role-book.ts'

interface KeyRow extends KeyChange {
  /** The key that the owner of the table declared; those of partitions are made from it. */
  readonly top: number
  /** The table that refers to the other. */
  readonly referrer: string
  /** The masked table is that one. */
  readonly isReferrer: boolean
  /** The columns of the masked table that are in the key. */
  readonly keys: readonly number[]
}

interface Found {
  readonly oid: number
  readonly keys: readonly number[]
  readonly name: string
  readonly referrer: string
  readonly parents: readonly string[]
  readonly roles: readonly string[]
  readonly revokes: readonly string[]
  readonly isOwned: boolean
}

/**
 * PostgreSQL checks a foreign key by a query that has the raw key as its parameter, and plans this query for the value. Every session may
 * have plans printed to itself (`debug_print_plan`, `client_min_messages`), also of the queries that PostgreSQL makes.
 */
export const printedKey = kind<Found>({
  code: 'PrintedKey',
  severity: 'high',
  async read(scene) {
    const written = await addChangers(scene, await readKeys(scene))
    const byKey = Map.groupBy(written, ({ row }) => JSON.stringify([row.top, row.isReferrer]))
    return [...byKey.values()].flatMap(merge).map(({ first, ...found }) => ({
      ...found,
      keys: first.keys,
      referrer: first.referrer,
    }))
  },
  describe: ({ relation, column, name, referrer, parents, revokes, isOwned }) => ({
    objects: [
      relation,
      { kind: 'constraint', name: quoteIdentifier(name) },
      ...parents.filter((one) => one !== relation.name).map((one) => ({ kind: 'table', name: one })),
    ],
    explanation: `PostgreSQL checks the foreign key of ${referrer} by a query with the raw key, ${column.name} included, when rows of ${parents.join(', ')} are changed, and these roles may do so. A session that sets debug_print_plan and client_min_messages = log is shown the plan of that query with the value, also where it rolls back. No role can be kept from these settings: revoke the right to change the rows, or drop the key.`,
    remedy: isOwned
      ? `ALTER TABLE ${referrer} DROP CONSTRAINT ${quoteIdentifier(name)}`
      : joinStatements(revokes),
  }),
})

/**
 * Changes that make PostgreSQL check a key with a masked column: a deletion of what is referred to, an update of any column of its key, and an
 * update of another column of the key of what refers to it. Then those that cause such a change by the actions of other keys.
 */
async function readKeys({ sql, masked, byOid }: Scene): Promise<KeyRow[]> {
  const hidden = masked
    .filter(({ holdsData }) => holdsData)
    .map(({ oid, hidden }) => ({ oid, numbers: hidden.map(({ number }) => number) }))
  const rows = await sql<KeyRow[]>`
    with recursive hidden as materialized (
      select h.oid::oid as oid, h.numbers from jsonb_to_recordset(${sql.json(hidden)}::jsonb) as h(oid int8, numbers int4[])
    ), path as (
      select k.oid as key, h.oid as root, false as referring, k.confkey as keys, k.confrelid as at, f.proname ~ '_del$' as is_delete, k.confkey as columns
      from hidden h join pg_catalog.pg_constraint k on k.confrelid = h.oid and k.contype = 'f' and k.confkey::int4[] && h.numbers
      join pg_catalog.pg_trigger t on t.tgconstraint = k.oid and t.tgrelid = h.oid and t.tgenabled <> 'D'
      join pg_catalog.pg_proc f on f.oid = t.tgfoid and f.proname ~ '^RI_FKey_(cascade|setnull|setdefault|noaction|restrict)_(del|upd)$'
      union
      select k.oid, h.oid, true, k.conkey, k.conrelid, false, others.columns
      from hidden h join pg_catalog.pg_constraint k on k.conrelid = h.oid and k.contype = 'f' and k.conkey::int4[] && h.numbers
      join pg_catalog.pg_trigger t on t.tgconstraint = k.oid and t.tgrelid = h.oid and t.tgenabled <> 'D'
      join pg_catalog.pg_proc f on f.oid = t.tgfoid and f.proname = 'RI_FKey_check_upd'
      -- A masked column that the role writes has a value of its own.
      cross join lateral (select array(select c from unnest(k.conkey) c where exists (
        select 1 from unnest(h.numbers) m where m = any(k.conkey) and m <> c)) as columns) others where others.columns <> '{}'
      union
      select p.key, p.root, p.referring, p.keys, a.parent, a.is_delete, a.confkey
      from path p cross join lateral (${selectActions(sql, sql`k.conrelid = p.at`)}) a
      where case when p.is_delete then a.is_delete and a.does = 'cascade' else a.changed && p.columns end
    )
    select p.root::int8 as oid, top.name, top.oid::int8 as top, p.keys::int4[] as keys, p.at::int8 as parent, p.is_delete as "isDelete",
      pg_catalog.format('%I.%I', n.nspname, t.relname) as "parentName", o.rolname::text as "parentOwner",
      top.relation::regclass::text as referrer, p.referring as "isReferrer",
      case when p.is_delete then array(select a.attnum::int4 from pg_catalog.pg_attribute a where a.attrelid = p.at and a.attnum > 0)
        else p.columns::int4[] end as "parentKey"
    from path p
    cross join lateral (with recursive up as (
        select k.oid, k.conname, k.conparentid, k.conrelid from pg_catalog.pg_constraint k where k.oid = p.key
        union all select y.oid, y.conname, y.conparentid, y.conrelid from up join pg_catalog.pg_constraint y on y.oid = up.conparentid)
      select oid, conname::text as name, conrelid as relation from up where conparentid = 0) top
    join pg_catalog.pg_class t on t.oid = p.at join pg_catalog.pg_namespace n on n.oid = t.relnamespace
    join pg_catalog.pg_roles o on o.oid = t.relowner order by 3, 1, 5, 6`
  return rows.map((row) => ({ ...row, parentName: byOid.get(row.parent)?.name ?? row.parentName }))
}
