import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { type Exposure, kind, type Scene } from './exposure.ts'
import { findHidden, type RoutineUse, readRangeUses, readRoutineUses } from './routine-uses.ts'
import { listMakers, listSeers } from './seers.ts'

type Found = Pick<Exposure, 'objects' | 'roles' | 'explanation' | 'remedy'>

/**
 * PostgreSQL calls a function wherever a relation needs it, with raw values of the row and as the role that writes, reads or
 * maintains the relation. The owner of the function may replace its text.
 */
export const routineOwner = kind<Found>({
  code: 'RoutineOwner',
  severity: 'high',
  async read(scene) {
    const seers = listSeers(scene)
    const ofMasked = scene.sql`o.rolname = any(${scene.book.ofWatched}::text[])`
    const found = [
      ...(await readRoutineUses(scene, ofMasked)),
      ...(await readRangeUses(scene, seers, ofMasked)),
    ]
    // Two checks of one table that hand over the same column are one.
    const distinct = new Map(
      found.map((use) => [JSON.stringify([use.oid, use.kind, use.place, use.routine, use.keys]), use]),
    )
    const uses = [...distinct.values()].map((use) => ({
      ...use,
      roles: listMakers(scene, use.maker, use.owner),
      column: findHidden(scene, use),
    }))
    const lent = uses.filter(({ column, owner }) => column === undefined && seers.includes(owner))
    return [
      ...(await readEvents(scene)),
      ...uses.flatMap((use) => (use.column === undefined ? [] : [describeValues(use, use.column)])),
      ...[...Map.groupBy(lent, ({ routine, owner }) => JSON.stringify([routine, owner])).values()].map(
        describeCode,
      ),
    ]
  },
  describe: (found) => found,
})

const named = ({ schema, name, kind }: RoutineUse) => ({ kind, name: quoteQualified(schema, name) })

type Use = RoutineUse & { readonly roles: readonly string[] }

function describeValues(use: Use, column: string): Found {
  const { place, routine, maker, owner, roles } = use
  return {
    objects: [{ kind: 'routine', name: routine }, named(use)],
    roles,
    explanation: `A ${place} of the ${use.kind} calls ${routine} with raw values of ${column}, and ${quoteIdentifier(maker)} owns it: the owner can replace its text by one that shows them. Read the text before you give it another owner.`,
    remedy: `ALTER ROUTINE ${routine} OWNER TO ${quoteIdentifier(owner)}`,
  }
}

/** Once for all relations of one owner. */
function describeCode(uses: readonly Use[]): Found {
  const { routine, maker, owner, roles } = uses[0] as Use
  const relations = new Map(uses.map((use) => [use.oid, named(use)]))
  const places = [...new Set(uses.map(({ place }) => place))].join(', ')
  return {
    objects: [{ kind: 'routine', name: routine }, ...relations.values()],
    roles,
    explanation: `Objects of ${quoteIdentifier(owner)}, whose rights lead to raw values, call ${routine} (${places}), and ${quoteIdentifier(maker)} owns it. PostgreSQL runs the function as the role that writes, reads or maintains them: the owner can replace its text by one that reads raw values. Read the text before you give it another owner.`,
    remedy: `ALTER ROUTINE ${routine} OWNER TO ${quoteIdentifier(owner)}`,
  }
}

/** An event trigger runs as the role whose statement fires it, the role of the binding among them. */
async function readEvents(scene: Scene): Promise<Found[]> {
  const rows = await scene.sql<{ name: string; owner: string; routine: string; maker: string }[]>`
    select e.evtname::text as name, o.rolname::text as owner, f.oid::regprocedure::text as routine, m.rolname::text as maker
    from pg_catalog.pg_event_trigger e join pg_catalog.pg_roles o on o.oid = e.evtowner
    join pg_catalog.pg_proc f on f.oid = e.evtfoid join pg_catalog.pg_roles m on m.oid = f.proowner
    where e.evtenabled <> 'D' order by 1`
  return rows.map(({ name, owner, routine, maker }) => ({
    objects: [
      { kind: 'routine', name: routine },
      { kind: 'event trigger', name: quoteIdentifier(name) },
    ],
    roles: listMakers(scene, maker, owner),
    explanation: `The event trigger runs ${routine} as each role that changes objects, the role of the binding among them, and ${quoteIdentifier(maker)} owns it: the owner can replace its text by one that reads raw values. Read the text before you give it another owner.`,
    remedy: `ALTER ROUTINE ${routine} OWNER TO ${quoteIdentifier(owner)}`,
  }))
}
