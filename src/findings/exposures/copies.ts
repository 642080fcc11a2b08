import type { Exposure } from '../../contracts/inspection.ts'
import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { Query, Row } from '../../db/sql.ts'
import { selectGuard } from '../../masks/read/guard.ts'
import { type ExposureKind, kind } from './exposure.ts'
import { granteesOf } from './routines.ts'
import { listReaders, type Scene } from './scene.ts'

/** A masked column (`oid`, `keys`), and another one that holds its values. */
interface CopyRow {
  readonly oid: number
  readonly keys: readonly number[]
  readonly schema: string
  readonly table: string
  readonly copy: string
  /** The word of SQL: `MATERIALIZED VIEW`. */
  readonly word: string
  readonly holder: string
  readonly roles: readonly string[]
  /** A masked role owns it: it needs no grant, and a mask does not bind it. */
  readonly isOwned: boolean
}

interface Copies {
  readonly code: string
  readonly severity: Exposure['severity']
  readonly meaning: string
  /** Selects `relation, number`, a column with rules that is hidden, and `other, other_number`. */
  select(scene: Scene): Query<Row[]>
  explain(masked: string, other: string): string
}

/** Other columns that hold what a mask hides, and can be read. A mask on them closes it. */
const copies: readonly Copies[] = [
  {
    code: 'ForeignKeyCopy',
    severity: 'high',
    meaning: 'a column without a mask refers to a masked one: put a rule on it',
    explain: (masked, other) =>
      `A foreign key ties ${other} to the masked column ${masked}: both hold the same values.`,
    select: ({ sql }) => sql`
      select h.relation, h.number, p.other, p.other_number from hidden h
      join pg_catalog.pg_constraint k on k.contype = 'f' and h.relation in (k.conrelid, k.confrelid)
      cross join lateral unnest(k.conkey, k.confkey) as u(near, far)
      cross join lateral (values (k.conrelid, u.near, k.confrelid, u.far), (k.confrelid, u.far, k.conrelid, u.near))
        as p(relation, number, other, other_number)
      where p.relation = h.relation and p.number = h.number`,
  },
  {
    code: 'PossibleCopy',
    severity: 'low',
    meaning: 'a column elsewhere has the same name and type: a hint',
    explain: (masked, other) =>
      `${other} has the name and type of the masked column ${masked}, and may hold the same values.`,
    select: ({ sql }) => sql`
      select h.relation, h.number, a.attrelid, a.attnum from hidden h
      join pg_catalog.pg_attribute b on b.attrelid = h.relation and b.attnum = h.number
      join pg_catalog.pg_attribute a on a.attname = b.attname and a.atttypid = b.atttypid and a.attrelid <> b.attrelid
      join pg_catalog.pg_class c on c.oid = a.attrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p', 'm', 'f') and c.relpersistence <> 't' and a.attnum > 0 and not a.attisdropped
        and n.nspname !~ '^(pg_|information_schema$)'
        and n.oid is distinct from (select oid from (${selectGuard(sql)}) g)
        and not exists (select 1 from pg_catalog.pg_inherits i
          where i.inhrelid = c.oid or i.inhparent = c.oid and i.inhrelid = b.attrelid)
        and not exists (select 1 from pg_catalog.pg_constraint k where k.contype = 'f'
          and (k.conrelid, k.confrelid) in ((a.attrelid, b.attrelid), (b.attrelid, a.attrelid)))`,
  },
]

export const copyKinds: readonly ExposureKind[] = copies.map((copy) =>
  kind<CopyRow>({
    code: copy.code,
    severity: copy.severity,
    meaning: copy.meaning,
    /** Once for each copy, however many masked columns it copies; a copy that is masked itself is none. */
    async read(scene) {
      const { sql, hidden, masked } = scene
      const tables = masked.filter(({ hasRules }) => hasRules).map(({ oid }) => oid)
      const rows = await sql<(Omit<CopyRow, 'roles' | 'isOwned'> & { grantees: (string | null)[] })[]>`
        with every_hidden as materialized (
          select relation, number from unnest(${hidden.oids}::oid[], ${hidden.numbers}::int2[]) as h(relation, number)
        ), hidden as materialized (
          select relation, number from every_hidden where relation = any(${tables}::oid[])
        ), copy (relation, number, other, other_number) as (${copy.select(scene)})
        select distinct on (c.oid, a.attnum) y.relation::int8 as oid, array[y.number::int4] as keys,
          n.nspname::text as schema, c.relname::text as "table", a.attname::text as copy,
          case c.relkind when 'm' then 'MATERIALIZED VIEW' when 'f' then 'FOREIGN TABLE' else 'TABLE' end as word,
          o.rolname::text as holder,
          ${granteesOf(sql, sql`c.relacl`, 'SELECT')} || ${granteesOf(sql, sql`a.attacl`, 'SELECT')} as grantees
        from copy y join pg_catalog.pg_class c on c.oid = y.other
        join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = y.other_number
        join pg_catalog.pg_namespace n on n.oid = c.relnamespace join pg_catalog.pg_roles o on o.oid = c.relowner
        where (y.other, y.other_number) not in (select relation, number from every_hidden)
        order by c.oid, a.attnum, y.relation`
      return rows.map(({ grantees, ...row }) => {
        // An owner of the masked table is not contained.
        const owners = listReaders(scene, scene.byOid.get(row.oid)?.owner ?? scene.self, [row.holder])
        const isOwned = owners.length > 0
        return { ...row, isOwned, roles: [...owners, ...listReaders(scene, row.holder, grantees)] }
      })
    },
    describe: ({ relation, column, schema, table, copy: name, word, holder, isOwned }, { self }) => {
      const place = quoteQualified(schema, table)
      const other = `${place}.${quoteIdentifier(name)}`
      const found = copy.explain(`${relation.name}.${quoteIdentifier(column.name)}`, other)
      const objects = [{ kind: 'column', name: other }]
      if (!isOwned)
        return {
          objects,
          explanation: [found],
          rule: { schemaName: schema, tableName: table, columnName: name, maskingFunction: 'Default' },
        }
      return {
        severity: copy.severity === 'low' ? 'medium' : copy.severity,
        objects,
        explanation: [
          `${found} It belongs to ${quoteIdentifier(holder)}, which may have copied the column before it had a mask,`,
          'and needs no grant. Look into it, then drop it or change its owner.',
        ],
        remedy: `ALTER ${word} ${place} OWNER TO ${quoteIdentifier(self)}`,
      }
    },
  }),
)
