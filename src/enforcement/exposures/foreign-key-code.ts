import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { kind } from './exposure.ts'
import { listMakers, listSeers } from './seers.ts'

interface KeyRow {
  readonly name: string
  readonly schema: string
  readonly table: string
  /** Owners of the referring table and of its partitions. */
  readonly holders: readonly string[]
  readonly otherSchema: string
  readonly other: string
  readonly owner: string
  /** Owners of the functions that compare both columns, and of the types that these convert. */
  readonly makers: readonly string[]
  /** It changes rows of the referring table when the other one changes. */
  readonly acts: boolean
}

/**
 * A foreign key runs code in two places. A check of a referring row compares it as the owner of the table that it refers to.
 * An action such as ON DELETE CASCADE runs as the owner of the referring table, but before PostgreSQL 18 the AFTER triggers
 * that it fires run as the role that changed the other table.
 */
export const foreignKeyCode = kind<KeyRow & { roles: readonly string[]; isCompared: boolean }>({
  code: 'ForeignKeyCode',
  severity: 'high',
  async read(scene) {
    const { sql, version } = scene
    const rows = await sql<KeyRow[]>`
      select k.conname::text as name, n.nspname::text as schema, c.relname::text as "table",
        array(with recursive part as (
          select c.oid, c.relowner
          union all select p.oid, p.relowner from part join pg_catalog.pg_inherits i on i.inhparent = part.oid
            join pg_catalog.pg_class p on p.oid = i.inhrelid and p.relispartition
        ) select distinct h.rolname::text from part join pg_catalog.pg_roles h on h.oid = part.relowner) as holders,
        m.nspname::text as "otherSchema", t.relname::text as other, o.rolname::text as owner,
        k.confdeltype in ('c', 'n', 'd') or k.confupdtype in ('c', 'n', 'd') as acts,
        array(select distinct r.rolname::text from unnest(k.conkey, k.conpfeqop) u(number, operator)
          join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.number
          join pg_catalog.pg_operator p on p.oid = u.operator
          cross join lateral (with recursive base as (
            select y.oid, y.typtype, y.typbasetype, y.typowner from pg_catalog.pg_type y where y.oid = a.atttypid
            union all select y.oid, y.typtype, y.typbasetype, y.typowner from base b
              join pg_catalog.pg_type y on b.typtype = 'd' and y.oid = b.typbasetype
          ) select oid, typowner from base where typtype <> 'd') base
          left join pg_catalog.pg_cast x on x.castsource = base.oid and x.casttarget = p.oprright and x.castfunc <> 0
          left join pg_catalog.pg_proc f on f.oid in (x.castfunc, p.oprcode)
          join pg_catalog.pg_roles r on r.oid = f.proowner or x.oid is not null and r.oid = base.typowner) as makers
      from pg_catalog.pg_constraint k
      join pg_catalog.pg_class c on c.oid = k.conrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_class t on t.oid = k.confrelid join pg_catalog.pg_namespace m on m.oid = t.relnamespace
      join pg_catalog.pg_roles o on o.oid = t.relowner
      where k.contype = 'f' and k.conparentid = 0 and o.rolname = any(${listSeers(scene)}::text[]) order by 2, 3, 1`
    return rows.map((row) => {
      const comparers = row.makers.flatMap((maker) => listMakers(scene, maker, row.owner))
      const holders =
        row.acts && version < 180000
          ? row.holders.flatMap((holder) => listMakers(scene, holder, row.owner))
          : []
      return { ...row, roles: [...new Set([...comparers, ...holders])], isCompared: comparers.length > 0 }
    })
  },
  describe: ({ name, schema, table, otherSchema, other, owner, isCompared }) => {
    const referring = quoteQualified(schema, table)
    const referred = quoteQualified(otherSchema, other)
    return {
      objects: [
        { kind: 'constraint', name: quoteIdentifier(name) },
        { kind: 'table', name: referring },
        { kind: 'table', name: referred },
      ],
      explanation: isCompared
        ? `The foreign key compares its columns by a function that these roles can replace, and PostgreSQL runs it as ${quoteIdentifier(owner)}, the owner of ${referred}, whose rights lead to raw values.`
        : `The foreign key changes rows of ${referring} when ${referred} changes. Before PostgreSQL 18 the AFTER triggers of ${referring} and its partitions, which these roles choose, then run as the role that changed ${referred}, such as its owner ${quoteIdentifier(owner)}, whose rights lead to raw values.`,
      remedy: `ALTER TABLE ${referring} DROP CONSTRAINT ${quoteIdentifier(name)}`,
    }
  },
})
