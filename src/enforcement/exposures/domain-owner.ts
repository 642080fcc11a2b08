import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { type Exposure, kind, type Scene } from './exposure.ts'
import { listMakers, listSeers } from './seers.ts'

interface ColumnRow {
  readonly oid: number
  readonly schema: string
  readonly name: string
  readonly kind: string
  readonly owner: string
  readonly number: number
  readonly domain: string
  readonly maker: string
  /** The domain is inside of an array, a composite type or a range. */
  readonly isInside: boolean
}

type Found = Pick<Exposure, 'objects' | 'roles' | 'explanation' | 'remedy'>

/**
 * A check that the owner of a domain adds calls any function. ALTER DOMAIN … ADD CHECK runs it on the stored values of every
 * column of the domain. With NOT VALID it also works for a domain inside of another type, and PostgreSQL then runs it for
 * each value that is written, as the role that writes.
 */
export const domainOwner = kind<Found>({
  code: 'DomainOwner',
  severity: 'high',
  async read(scene) {
    const seers = listSeers(scene)
    const columns = (await readColumns(scene, seers)).map((column) => ({
      ...column,
      roles: listMakers(scene, column.maker, column.owner),
      hidden: scene.byOid.get(column.oid)?.hidden.find(({ number }) => number === column.number)?.name,
    }))
    const lent = columns.filter(({ hidden, owner }) => hidden === undefined && seers.includes(owner))
    return [
      ...columns.flatMap((one) => (one.hidden === undefined ? [] : [describeValues(one, one.hidden)])),
      ...[...Map.groupBy(lent, ({ domain, owner }) => JSON.stringify([domain, owner])).values()].map(
        describeCode,
      ),
    ]
  },
  describe: (found) => found,
})

type Column = ColumnRow & { readonly roles: readonly string[] }

const named = ({ schema, name, kind }: ColumnRow) => ({ kind, name: quoteQualified(schema, name) })

function describeValues(column: Column, hidden: string): Found {
  const { domain, maker, owner, roles, isInside } = column
  return {
    objects: [{ kind: 'domain', name: domain }, named(column)],
    roles,
    explanation: isInside
      ? `The type of the masked column ${hidden} contains the domain ${domain}, and ${quoteIdentifier(maker)} owns it: a check that the owner adds to the domain is run on the raw values that roles write from then on.`
      : `The masked column ${hidden} is of the domain ${domain}, and ${quoteIdentifier(maker)} owns it: a check that the owner adds to the domain is run on the raw values of every row.`,
    remedy: `ALTER DOMAIN ${domain} OWNER TO ${quoteIdentifier(owner)}`,
  }
}

/** Once for all relations of one owner. */
function describeCode(columns: readonly Column[]): Found {
  const { domain, maker, owner, roles } = columns[0] as Column
  const relations = new Map(columns.map((column) => [column.oid, named(column)]))
  return {
    objects: [{ kind: 'domain', name: domain }, ...relations.values()],
    roles,
    explanation: `Tables of ${quoteIdentifier(owner)}, whose rights lead to raw values, have columns of the domain ${domain}, and ${quoteIdentifier(maker)} owns it: a check that the owner adds to the domain runs as the role that writes, such as ${quoteIdentifier(owner)}, and can read raw values.`,
    remedy: `ALTER DOMAIN ${domain} OWNER TO ${quoteIdentifier(owner)}`,
  }
}

/**
 * Begins with the types of columns, which the owners of the tables choose, and looks for domains inside of each: masked roles
 * may make any number of domains, and types of them.
 */
function readColumns({ sql, book, oids }: Scene, seers: readonly string[]): Promise<ColumnRow[]> {
  return sql<ColumnRow[]>`
    with recursive typed as materialized (
      select c.oid as relation, d.objsubid as number, d.refobjid as type, o.rolname::text as owner
      from pg_catalog.pg_depend d join pg_catalog.pg_class c on c.oid = d.objid and c.relkind in ('r', 'p', 'm', 'f')
      join pg_catalog.pg_roles o on o.oid = c.relowner
      where d.classid = 'pg_catalog.pg_class'::regclass and d.objsubid > 0 and d.refclassid = 'pg_catalog.pg_type'::regclass
        and (o.rolname = any(${seers}::text[]) or c.oid = any(${oids}::oid[]))
    ), part as (
      select distinct type as root, type, false as inside from typed
      union
      select p.root, next.type, p.inside or next.inside from part p join pg_catalog.pg_type t on t.oid = p.type cross join lateral (
        select t.typbasetype as type, false as inside where t.typtype = 'd'
        union all select t.typelem, true where t.typtype = 'b' and t.typelem <> 0
        union all select r.rngsubtype, true from pg_catalog.pg_range r
          where t.oid in (r.rngtypid, (to_jsonb(r) ->> 'rngmultitypid')::oid)
        union all select a.atttypid, true from pg_catalog.pg_attribute a
          where t.typtype = 'c' and a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
      ) next
    )
    select distinct on (c.oid, u.number, t.oid) c.oid::int8 as oid, n.nspname::text as schema, c.relname::text as name,
      u.owner, u.number, p.inside as "isInside", b.rolname::text as maker,
      case c.relkind when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table' end as kind,
      pg_catalog.format('%I.%I', s.nspname, t.typname) as domain
    from part p join pg_catalog.pg_type t on t.oid = p.type and t.typtype = 'd'
    join pg_catalog.pg_roles b on b.oid = t.typowner and b.rolname = any(${book.ofWatched}::text[])
    join pg_catalog.pg_namespace s on s.oid = t.typnamespace
    join typed u on u.type = p.root join pg_catalog.pg_class c on c.oid = u.relation
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    order by c.oid, u.number, t.oid, p.inside`
}
