import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { selectGuard } from '../guard/find-guard.ts'
import { aclEntries, findMaskedGrantees } from './acl-entries.ts'
import { type AclEntry, type ExposureKind, kind, type Scene, type Severity } from './exposure.ts'

/** A masked column (`oid`, `keys`), and another one that holds its values. */
interface FoundCopy {
  readonly oid: number
  readonly keys: readonly number[]
  readonly other: number
  readonly number: number
  readonly schema: string
  readonly table: string
  readonly copy: string
  readonly relkind: string
  readonly holder: string
  readonly grants: readonly AclEntry[]
}

interface CopyRow extends Omit<FoundCopy, 'grants'> {
  readonly roles: readonly string[]
  /** A masked role owns it: it needs no grant, and a mask does not bind it. */
  readonly isOwned: boolean
  /** It has every column of a masked table, by name and type. */
  readonly isAlike: boolean
}

interface Copies {
  readonly code: string
  readonly severity: Severity
  find(scene: Scene): Promise<FoundCopy[]>
  explain(masked: string, other: string): string
}

/** Other columns that hold what a mask hides, and can be read. A mask on them closes it. */
const copies: readonly Copies[] = [
  {
    code: 'ForeignKeyCopy',
    severity: 'high',
    explain: (masked, other) =>
      `A foreign key ties ${other} to the masked column ${masked}: both hold the same values, and ${other} shows them.`,
    find: async ({ sql, tables }) =>
      await sql<FoundCopy[]>`
      select distinct p.masked::int8 as oid, array[p.masked_column::int4] as keys, ${otherColumns(sql)}
      from pg_catalog.pg_constraint k
      cross join lateral unnest(k.conkey, k.confkey) as u(near, far)
      cross join lateral (values (k.conrelid, u.near, k.confrelid, u.far), (k.confrelid, u.far, k.conrelid, u.near))
        as p(masked, masked_column, other, other_column)
      join pg_catalog.pg_attribute a on a.attrelid = p.other and a.attnum = p.other_column
      ${otherTables(sql)}
      where k.contype = 'f' and p.masked = any(${tables}::oid[])`,
  },
  {
    code: 'PossibleCopy',
    severity: 'low',
    explain: (masked, other) =>
      `${other} has the name and the type of the masked column ${masked}. If it holds the same values, they can be read there.`,
    find: async ({ sql, tables, masked }) => {
      const hidden = masked.flatMap(({ oid, hidden: columns }) =>
        columns.map(({ number }) => ({ oid, number })),
      )
      return await sql<FoundCopy[]>`
      with hidden as materialized (
        select relation, number from unnest(${hidden.map(({ oid }) => oid)}::oid[], ${hidden.map(({ number }) => number)}::int2[]) as h(relation, number)
      ), named as materialized (
        select distinct on (b.attname, b.atttypid) b.* from hidden h
        join pg_catalog.pg_attribute b on b.attrelid = h.relation and b.attnum = h.number
        where b.attrelid = any(${tables}::oid[]) order by b.attname, b.atttypid, b.attrelid
      )
      select b.attrelid::int8 as oid, array[b.attnum::int4] as keys, ${otherColumns(sql)}
      from named b
      join pg_catalog.pg_attribute a on a.attname = b.attname and a.atttypid = b.atttypid and a.attrelid <> b.attrelid
        and a.attnum > 0 and not a.attisdropped
      ${otherTables(sql)}
      where not exists (select 1 from hidden h where h.relation = a.attrelid and h.number = a.attnum)
        and c.relkind in ('r', 'p', 'm', 'f') and c.relpersistence <> 't'
        and n.nspname !~ '^(pg_|information_schema$)'
        and n.oid is distinct from (select oid from (${selectGuard(sql)}) g)
        and not exists (select 1 from pg_catalog.pg_inherits i where i.inhrelid = c.oid)
        and not exists (select 1 from pg_catalog.pg_inherits i where i.inhparent = c.oid and i.inhrelid = b.attrelid)
        and not exists (select 1 from pg_catalog.pg_constraint k where k.contype = 'f'
          and (k.conrelid, k.confrelid) in ((a.attrelid, b.attrelid), (b.attrelid, a.attrelid)))`
    },
  },
]

const otherColumns = (sql: Scene['sql']) => sql`
  c.oid::int8 as other, n.nspname::text as schema, c.relname::text as "table", a.attname::text as copy,
  a.attnum::int4 as number, c.relkind::text as relkind, o.rolname::text as holder,
  ${aclEntries(sql, sql`c.relacl`, ['SELECT'])} || ${aclEntries(sql, sql`a.attacl`, ['SELECT'])} as grants`

const otherTables = (sql: Scene['sql']) => sql`
  join pg_catalog.pg_class c on c.oid = a.attrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace join pg_catalog.pg_roles o on o.oid = c.relowner`

export const copyKinds: readonly ExposureKind[] = copies.map(({ code, severity, find, explain }) =>
  kind<CopyRow>({
    code,
    severity,
    /** Once for each copy, however many masked columns it copies; a copy that is masked itself is none. */
    async read(scene) {
      const isHidden = (oid: number, number: number) =>
        scene.byOid.get(oid)?.hidden.some((column) => column.number === number) ?? false
      const rows = (await find(scene)).filter(
        ({ oid, keys, other, number }) => keys.some((key) => isHidden(oid, key)) && !isHidden(other, number),
      )
      const copiesByColumn = new Map(rows.map((row) => [`${row.other} ${row.number}`, row]))
      const found = [...copiesByColumn.values()].map((row) => findReaders(scene, row))
      const owned = found.filter(({ isOwned }) => isOwned).map(({ other }) => other)
      const alike = await findAlike(scene, owned)
      return found.map((row) => ({ ...row, isAlike: alike.has(row.other) }))
    },
    describe: ({ relation, column, schema, table, copy, relkind, holder, isOwned, isAlike }, { self }) => {
      const name = quoteQualified(schema, table)
      const other = `${name}.${quoteIdentifier(copy)}`
      const explanation = explain(`${relation.name}.${quoteIdentifier(column.name)}`, other)
      if (!isOwned)
        return {
          objects: [{ kind: 'column', name: other }],
          explanation,
          rule: { schemaName: schema, tableName: table, columnName: copy, maskingFunction: 'Default' },
        }
      return {
        // A table of a masked role with all columns of the masked one is a copy, or was a partition of it.
        severity: isAlike ? 'high' : severity,
        objects: [{ kind: 'column', name: other }],
        explanation: `${explanation} It belongs to ${quoteIdentifier(holder)}, which may have copied the column before it had a mask; an owner reads without a grant, and past a rule. Look into it, then drop it or change its owner.`,
        remedy: `ALTER ${kindWords[relkind] ?? 'TABLE'} ${name} OWNER TO ${quoteIdentifier(self)}`,
      }
    },
  }),
)

const kindWords: Readonly<Record<string, string>> = { m: 'MATERIALIZED VIEW', f: 'FOREIGN TABLE' }

/** The masked roles that read a copy, by a grant or as its owner. An owner of the masked table itself is listed as such. */
function findReaders(scene: Scene, { grants, ...row }: FoundCopy): Omit<CopyRow, 'isAlike'> {
  const { book, byOid, self } = scene
  const source = byOid.get(row.oid)?.owner ?? self
  const owners = book
    .watchedBehind(row.holder)
    .filter((role) => !book.roles.get(role)?.superuser && !book.reaches(role, source))
  const grantees = findMaskedGrantees(scene, grants, row.holder)?.roles ?? []
  return { ...row, roles: [...owners, ...grantees], isOwned: owners.length > 0 }
}

/** More copies of masked roles than these are not compared: all count as alike. */
const mostCompared = 1000

/** Those of the relations that have every column of a masked table. */
async function findAlike({ sql, tables }: Scene, copies: readonly number[]): Promise<ReadonlySet<number>> {
  const compared = [...new Set(copies)]
  if (compared.length === 0 || compared.length > mostCompared) return new Set(compared)
  const rows = await sql<{ oid: number }[]>`
    select distinct y.attrelid::int8 as oid from pg_catalog.pg_attribute x
    join pg_catalog.pg_attribute y on y.attname = x.attname and y.atttypid = x.atttypid
    where x.attrelid = any(${tables}::oid[]) and y.attrelid = any(${compared}::oid[])
      and x.attnum > 0 and y.attnum > 0 and not x.attisdropped and not y.attisdropped
    group by x.attrelid, y.attrelid having count(*) = (select count(*) from pg_catalog.pg_attribute z
      where z.attrelid = x.attrelid and z.attnum > 0 and not z.attisdropped)`
  return new Set(rows.map(({ oid }) => oid))
}
