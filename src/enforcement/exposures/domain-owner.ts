import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { type Exposure, kind, type Scene } from './exposure.ts'
import { listMakers, listSeers } from './seers.ts'
import { selectUsedTypes } from './used-types.ts'

interface UseRow {
  readonly oid: number
  readonly schema: string
  readonly name: string
  readonly kind: string
  readonly owner: string
  /** Of the column; 0: an expression uses it. */
  readonly number: number
  readonly place: string
  readonly domain: string
  readonly maker: string
  /** The domain is inside of an array, a composite type or a range. */
  readonly isInside: boolean
}

type Found = Pick<Exposure, 'objects' | 'roles' | 'explanation' | 'remedy'>

/**
 * A check that the owner of a domain adds calls any function. ALTER DOMAIN … ADD CHECK runs it on the stored values of every
 * column of the domain. With NOT VALID it also works for a domain inside of another type, and PostgreSQL then runs it for
 * each value that is written, as the role that writes; for a domain in an expression, as the role for which PostgreSQL evaluates it.
 */
export const domainOwner = kind<Found>({
  code: 'DomainOwner',
  severity: 'high',
  async read(scene) {
    const seers = listSeers(scene)
    const uses = (await readUses(scene, seers)).map((use) => ({
      ...use,
      roles: listMakers(scene, use.maker, use.owner),
      hidden: scene.byOid.get(use.oid)?.hidden.find(({ number }) => number === use.number)?.name,
    }))
    const lent = uses.filter(({ hidden, owner }) => hidden === undefined && seers.includes(owner))
    return [
      ...uses.flatMap((one) => (one.hidden === undefined ? [] : [describeValues(one, one.hidden)])),
      ...[...Map.groupBy(lent, ({ domain, owner }) => JSON.stringify([domain, owner])).values()].map(
        describeCode,
      ),
    ]
  },
  describe: (found) => found,
})

type Use = UseRow & { readonly roles: readonly string[] }

const named = ({ schema, name, kind }: UseRow) => ({ kind, name: quoteQualified(schema, name) })

function describeValues(use: Use, hidden: string): Found {
  const { domain, maker, owner, roles, isInside } = use
  return {
    objects: [{ kind: 'domain', name: domain }, named(use)],
    roles,
    explanation: isInside
      ? `The type of the masked column ${hidden} contains the domain ${domain}, and ${quoteIdentifier(maker)} owns it: a check that the owner adds to the domain is run on the raw values that roles write from then on.`
      : `The masked column ${hidden} is of the domain ${domain}, and ${quoteIdentifier(maker)} owns it: a check that the owner adds to the domain is run on the raw values of every row.`,
    remedy: `ALTER DOMAIN ${domain} OWNER TO ${quoteIdentifier(owner)}`,
  }
}

/** Once for all relations of one owner. */
function describeCode(uses: readonly Use[]): Found {
  const { domain, maker, owner, roles } = uses[0] as Use
  const objects = new Map(uses.map((use) => [`${use.kind} ${use.oid}`, named(use)]))
  const places = [...new Set(uses.map(({ place }) => place))].join(', ')
  return {
    objects: [{ kind: 'domain', name: domain }, ...objects.values()],
    roles,
    explanation: `Objects of ${quoteIdentifier(owner)}, whose rights lead to raw values, use the domain ${domain} (${places}), and ${quoteIdentifier(maker)} owns it: a check that the owner adds to the domain runs as the role that writes or reads them, such as ${quoteIdentifier(owner)}, and can read raw values.`,
    remedy: `ALTER DOMAIN ${domain} OWNER TO ${quoteIdentifier(owner)}`,
  }
}

function readUses(scene: Scene, seers: readonly string[]): Promise<UseRow[]> {
  const { sql, book } = scene
  const ofMasked = sql`join pg_catalog.pg_roles b on b.oid = t.typowner and b.rolname = any(${book.ofWatched}::text[])`
  const isAsked = sql`exists (select 1 from pg_catalog.pg_type t ${ofMasked} where t.typtype = 'd')`
  return sql<UseRow[]>`
    with recursive ${selectUsedTypes(scene, seers, isAsked)}
    select distinct on (o.oid, o.kind, u.number, u.place, t.oid) o.oid::int8 as oid, o.schema, o.name, o.kind, o.owner, u.number, u.place,
      p.inside as "isInside", b.rolname::text as maker, pg_catalog.format('%I.%I', s.nspname, t.typname) as domain
    from part p join pg_catalog.pg_type t on t.oid = p.type and t.typtype = 'd'
    ${ofMasked}
    join pg_catalog.pg_namespace s on s.oid = t.typnamespace
    join typed u on u.type = p.root join owned o on o.oid = u.oid and o.kind = u.kind
    order by o.oid, o.kind, u.number, u.place, t.oid, p.inside`
}
