import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { Query, Row } from '../../db/sql.ts'
import { aclEntries } from './acl-entries.ts'
import { type AclEntry, kind, type NamedObject, type Scene } from './exposure.ts'
import { findMaintainers } from './maintainers.ts'
import { describeParts } from './parts.ts'
import { listMakers, listSeers } from './seers.ts'

interface ReadRow {
  /** The view or table of a masked role. */
  readonly made: string
  readonly madeKind: string
  /** The table above it that is read; null where it is read itself. */
  readonly above: string | null
  readonly maker: string
  readonly schema: string
  readonly name: string
  readonly kind: string
  readonly owner: string
  readonly acl: readonly AclEntry[]
}

interface Found {
  /** One, or all that a role has below one table. */
  readonly parts: readonly NamedObject[]
  readonly above: string | null
  readonly maker: string
  readonly reader: string
  readonly relations: readonly NamedObject[]
  readonly refreshers: readonly string[]
  readonly roles: readonly string[]
}

/**
 * A view reads tables with the rights of its owner, but calls functions as the role that reads it, and in REFRESH as the owner of the
 * materialized view. The owner of a view can have it call any function, whichever view reads it. The owner of a table can do that by
 * checks and indexes, which PostgreSQL evaluates when it plans a statement: in REFRESH as the owner of the materialized view too.
 */
export const viewCode = kind<Found>({
  code: 'ViewCode',
  severity: 'medium',
  async read(scene) {
    const rows = await readReaders(scene)
    const groups = Map.groupBy(rows, ({ made, above, maker, owner }) =>
      JSON.stringify(above === null ? [made, owner] : [above, maker, owner, 'below']),
    ).values()
    return [...groups].flatMap((same) => {
      const [first] = same
      if (!first) return []
      const { above, maker, owner: reader } = first
      const parts = new Map(same.map(({ made, madeKind }) => [made, madeKind]))
      const readers = new Map(same.map((row) => [quoteQualified(row.schema, row.name), row]))
      const refreshers = [...readers.values()]
        .filter((row) => row.kind === 'materialized view')
        .flatMap((row) => findMaintainers(scene, row).roles)
      return {
        above,
        parts: [...parts].map(([name, kind]) => ({ kind, name })),
        maker,
        reader,
        relations: [...readers].map(([name, { kind }]) => ({ kind, name })),
        refreshers: [...new Set(refreshers)],
        roles: listMakers(scene, maker, reader),
      }
    })
  },
  describe: ({ parts, above, maker, reader, relations, refreshers }) => {
    const { objects, words, remedy } = describeParts(parts, reader)
    return {
      severity: refreshers.length > 0 ? 'high' : 'medium',
      objects: [...objects, ...relations],
      explanation: `Relations of ${quoteIdentifier(reader)}, whose rights lead to raw values, read ${above === null ? '' : `${above}, which stands for `}${words}, of the owner ${quoteIdentifier(maker)}: that owner can have it call a function that reads raw values${parts[0]?.kind === 'view' ? '' : ', by a check or an index'}. PostgreSQL runs the function as the role that reads them, such as ${quoteIdentifier(reader)}, and as the owner of a materialized view that is refreshed.${
        refreshers.length > 0
          ? ` ${refreshers.map(quoteIdentifier).join(', ')} may refresh it at any time.`
          : ''
      } Read the definition before you give another owner.`,
      remedy,
    }
  },
})

/**
 * Begins with the relations of masked roles and looks up what reads each, through views and as a part of other tables. A materialized view
 * is read without its query.
 */
function readReaders(scene: Scene): Promise<ReadRow[]> {
  const { sql, book, twinOwners } = scene
  return sql<ReadRow[]>`
    with recursive made as materialized (
      select v.oid, m.rolname::text as maker from pg_catalog.pg_class v join pg_catalog.pg_roles m on m.oid = v.relowner
      where v.relkind in ('v', 'r', 'p', 'f', 'm') and v.relpersistence <> 't' and m.rolname = any(${book.ofWatched}::text[])
    ), part as (
      select oid as made, oid as at from made
      union
      select p.made, i.inhparent from part p join pg_catalog.pg_inherits i on i.inhrelid = p.at
    ), above as (
      select made as view, at as reader, at as via, false as ends from part
      union
      select a.view, c.oid, a.via, c.relkind <> 'v' or w.ev_type <> '1'
      from above a join pg_catalog.pg_depend d on d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = a.reader
        and d.classid = 'pg_catalog.pg_rewrite'::regclass
      join pg_catalog.pg_rewrite w on w.oid = d.objid and w.ev_enabled <> 'D'
      join pg_catalog.pg_class c on c.oid = w.ev_class and c.oid <> a.reader
      join pg_catalog.pg_roles r on r.oid = c.relowner and r.rolname <> all(${twinOwners}::text[])
      where not a.ends
    )
    select distinct v.oid::regclass::text as made, ${relationKind(sql, sql`v.relkind`)} as "madeKind", m.maker,
      case when a.via <> a.view then a.via::regclass::text end as above, n.nspname::text as schema,
      c.relname::text as name, o.rolname::text as owner, ${relationKind(sql, sql`c.relkind`)} as kind,
      case c.relkind when 'm' then ${aclEntries(sql, sql`c.relacl`, ['MAINTAIN'])} else '[]' end as acl
    from above a join made m on m.oid = a.view join pg_catalog.pg_class v on v.oid = a.view
    join pg_catalog.pg_class c on c.oid = a.reader and c.oid <> a.view and (v.relkind = 'v' or c.relkind = 'm')
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_roles o on o.oid = c.relowner and o.rolname = any(${listSeers(scene)}::text[])
    order by 1, 4, 5, 6`
}

const relationKind = (sql: Scene['sql'], relkind: Query<Row[]>) =>
  sql`case ${relkind} when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table' end`
