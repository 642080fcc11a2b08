import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { aclEntries } from './acl-entries.ts'
import { type AclEntry, kind, type NamedObject, type Scene } from './exposure.ts'
import { findMaintainers } from './maintainers.ts'
import { listMakers, listSeers } from './seers.ts'

interface ReadRow {
  /** The view of a masked role. */
  readonly view: string
  readonly maker: string
  readonly schema: string
  readonly name: string
  readonly kind: string
  readonly owner: string
  readonly acl: readonly AclEntry[]
}

interface Found {
  readonly view: string
  readonly maker: string
  readonly reader: string
  readonly relations: readonly NamedObject[]
  readonly refreshers: readonly string[]
  readonly roles: readonly string[]
}

/**
 * A view reads tables with the rights of its owner, but calls functions as the role that reads it, and in REFRESH as the owner of the
 * materialized view. The owner of a view can have it call any function, whichever view reads it.
 */
export const viewCode = kind<Found>({
  code: 'ViewCode',
  severity: 'medium',
  async read(scene) {
    const rows = await readReaders(scene)
    const groups = Map.groupBy(rows, ({ view, owner }) => JSON.stringify([view, owner])).values()
    return [...groups].flatMap((same) => {
      const [first] = same
      if (!first) return []
      const { view, maker, owner: reader } = first
      const refreshers = same
        .filter((row) => row.kind === 'materialized view')
        .flatMap((row) => findMaintainers(scene, row).roles)
      return {
        view,
        maker,
        reader,
        relations: same.map(({ kind, schema, name }) => ({ kind, name: quoteQualified(schema, name) })),
        refreshers: [...new Set(refreshers)],
        roles: listMakers(scene, maker, reader),
      }
    })
  },
  describe: ({ view, maker, reader, relations, refreshers }) => ({
    severity: refreshers.length > 0 ? 'high' : 'medium',
    objects: [{ kind: 'view', name: view }, ...relations],
    explanation: `Relations of ${quoteIdentifier(reader)}, whose rights lead to raw values, read the view ${view}, and ${quoteIdentifier(maker)} owns it: the owner can have it call a function that reads raw values. PostgreSQL runs the function as the role that reads them, such as ${quoteIdentifier(reader)}, and as the owner of a materialized view that is refreshed.${
      refreshers.length > 0
        ? ` ${refreshers.map(quoteIdentifier).join(', ')} may refresh it at any time.`
        : ''
    } Read the definition before you give it another owner.`,
    remedy: `ALTER VIEW ${view} OWNER TO ${quoteIdentifier(reader)}`,
  }),
})

/** Begins with the views of masked roles and looks up what reads each, through views. A materialized view is read without its query. */
function readReaders(scene: Scene): Promise<ReadRow[]> {
  const { sql, book, twinOwners } = scene
  return sql<ReadRow[]>`
    with recursive made as materialized (
      select v.oid, m.rolname::text as maker from pg_catalog.pg_class v join pg_catalog.pg_roles m on m.oid = v.relowner
      where v.relkind = 'v' and m.rolname = any(${book.ofWatched}::text[])
    ), above as (
      select oid as view, oid as reader, false as ends from made
      union
      select a.view, c.oid, c.relkind <> 'v' or w.ev_type <> '1'
      from above a join pg_catalog.pg_depend d on d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = a.reader
        and d.classid = 'pg_catalog.pg_rewrite'::regclass
      join pg_catalog.pg_rewrite w on w.oid = d.objid and w.ev_enabled <> 'D'
      join pg_catalog.pg_class c on c.oid = w.ev_class and c.oid <> a.reader
      join pg_catalog.pg_roles r on r.oid = c.relowner and r.rolname <> all(${twinOwners}::text[])
      where not a.ends
    )
    select distinct v.oid::regclass::text as view, m.maker, n.nspname::text as schema, c.relname::text as name, o.rolname::text as owner,
      case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table' end as kind,
      case c.relkind when 'm' then ${aclEntries(sql, sql`c.relacl`, ['MAINTAIN'])} else '[]' end as acl
    from above a join made m on m.oid = a.view join pg_catalog.pg_class v on v.oid = a.view
    join pg_catalog.pg_class c on c.oid = a.reader and c.oid <> a.view join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_roles o on o.oid = c.relowner and o.rolname = any(${listSeers(scene)}::text[])
    order by 1, 3, 4`
}
