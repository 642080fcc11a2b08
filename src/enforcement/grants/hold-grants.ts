import { isDeepStrictEqual } from 'node:util'
import { quoteQualified } from '../../db/quote.ts'
import type { Tx } from '../../db/transaction.ts'
import { apply } from '../apply.ts'
import type { Guard, ObservedTwin, Relation, Snapshot } from '../catalog.ts'
import type { Desired, Step } from '../plan.ts'
import { actAs } from './grant-steps.ts'
import {
  type AclEntry,
  aclAsJson,
  listGrants,
  listRights,
  nameRoles,
  type RoleNames,
  watchedPrivileges,
  writersAsJson,
} from './read-acl.ts'
import { listNewlyHidden, type Touched, touch, touchPatiently } from './touch-grants.ts'

/** A relation, or a twin, as a plan has read it. */
interface Target extends Touched {
  readonly twin?: ObservedTwin
}

type Part = Pick<Desired, 'masked' | 'released'>

interface Planned {
  readonly snapshot: Snapshot
  readonly desired: Desired
  readonly redesire: (snapshot: Snapshot) => Desired
}

export interface Holding<P extends Planned> {
  /** Steps by another plan. */
  readonly write: (planned: P) => readonly Step[]
  /** The relations that the steps are about. */
  readonly choose: (desired: Desired) => Part
  /** Neither names nor grants that other sessions change all the time make it fail. What cannot be held is changed all the same. */
  readonly isPatient: boolean
  /** Names of twins that the steps drop, with their grants. */
  readonly drops?: readonly string[]
  /** Names of relations whose grants the transaction has changed before, and of twins that it dropped. */
  readonly held?: ReadonlySet<string>
}

/**
 * Runs before the first change of grants. Keeps other sessions from changing the grants that the steps change until the end of the
 * transaction, and plans again by those that are there by then: what was revoked since the first plan would be granted. PostgreSQL has no
 * lock for that, but it writes the row of a relation with each REVOKE, also where that changes nothing, and a session that writes
 * the same row waits for the end of the transaction. Each plan after the first is made with more of them held, so that it ends
 * (decision 0133).
 */
export async function planHeld<P extends Planned>(
  tx: Tx,
  planned: P,
  steps: readonly Step[],
  { write, choose, isPatient, drops = [], held }: Holding<P>,
): Promise<{ planned: P; steps: readonly Step[] }> {
  const ours = new Set(held)
  for (let [current, due] = [planned, steps]; ; due = write(current)) {
    const { snapshot, desired } = current
    const names = new Set([...listChanged(due), ...drops])
    const targets = listTargets(snapshot, choose(desired), names).filter(({ name }) => !ours.has(name))
    await apply(tx, targets.flatMap(isPatient ? touchPatiently : touch))
    for (const { name } of targets) ours.add(name)
    const now = targets.length === 0 ? snapshot : await renewGrants(tx, snapshot, targets)
    if (now === snapshot) return { planned: current, steps: due }
    current = { ...current, snapshot: now, desired: current.redesire(now) }
  }
}

/** The same snapshot where nothing changed. */
async function renewGrants(tx: Tx, snapshot: Snapshot, targets: readonly Target[]): Promise<Snapshot> {
  const names: RoleNames = new Map([...snapshot.roles.values()].map(({ oid, name }) => [oid, name]))
  const relations = new Map<number, Relation>()
  const twins = new Map<string, ObservedTwin>()
  for (const row of await readTargets(tx, targets)) {
    const { name = '', relation, twin } = targets[row.at] ?? {}
    const relationNow = relation && renewRelation(relation, row, names)
    if (relationNow && !isSame(listEntries(relation), listEntries(relationNow)))
      relations.set(relation.oid, relationNow)
    const twinNow = twin && renewTwin(twin, row, names)
    if (twinNow && !isSame(listTwinEntries(twin), listTwinEntries(twinNow))) twins.set(name, twinNow)
  }
  if (relations.size + twins.size === 0) return snapshot
  return {
    ...snapshot,
    relations: snapshot.relations.map((one) => relations.get(one.oid) ?? one),
    twins: snapshot.twins.map((one) => twins.get(nameOf(one)) ?? one),
  }
}

function isSame(former: readonly unknown[], latter: readonly unknown[]): boolean {
  const [one, other] = [former, latter].map((list) => list.map((entry) => JSON.stringify(entry)).sort())
  return isDeepStrictEqual(one, other)
}

const nameOf = ({ schema, name }: Pick<Relation, 'schema' | 'name'>) => quoteQualified(schema, name)

/** The names of relations whose grants the steps change. */
export function listChanged(steps: readonly Step[]): string[] {
  return steps.flatMap(({ change }) => change?.on ?? [])
}

/**
 * Relations and twins whose grants the steps change. Steps that give grants back do not say so: all of these count. So do tables of which
 * columns are hidden that no role may read as it is: no step changes their grants then.
 */
function listTargets(snapshot: Snapshot, { masked, released }: Part, changed: ReadonlySet<string>): Target[] {
  if (changed.size + masked.length + released.length === 0) return []
  const { twins, guards } = indexRecords(snapshot)
  const list = (relation: Relation, columns: Relation['columns'] = []): Target[] => {
    const twin = twins.get(relation.oid)
    const own = { name: nameOf(relation), relation, columns, ...actAs(relation) }
    return twin && twin.managed !== 'not' ? [own, { name: nameOf(twin), twin, ...actAs(twin) }] : [own]
  }
  const found = [
    ...masked
      .flatMap((one) => list(one.relation, listNewlyHidden(guards.get(one.relation.oid), one)))
      .filter(({ name, columns = [] }) => changed.has(name) || columns.length > 0),
    ...released.flatMap(({ relation }) => (relation && relation.managed !== 'not' ? list(relation) : [])),
  ]
  return [...new Map(found.map((one) => [one.name, one])).values()]
}

/** Relation by relation, a snapshot is asked thousands of times. */
const indexes = new WeakMap<Snapshot, Records>()

interface Records {
  /** The twins of relations, by the oid of these. */
  readonly twins: ReadonlyMap<number, ObservedTwin>
  readonly guards: ReadonlyMap<number, Guard>
}

function indexRecords(snapshot: Snapshot): Records {
  const known = indexes.get(snapshot)
  if (known) return known
  const byName = new Map(snapshot.twins.map((twin) => [nameOf(twin), twin]))
  const twins = new Map(
    snapshot.guards.flatMap(({ oid, twin }) => {
      const own = twin && byName.get(nameOf(twin))
      return own ? [[oid, own]] : []
    }),
  )
  const found = { twins, guards: new Map(snapshot.guards.map((guard) => [guard.oid, guard])) }
  indexes.set(snapshot, found)
  return found
}

interface TargetRow {
  readonly at: number
  readonly acl: readonly AclEntry[]
  readonly writing: readonly Pick<AclEntry, 'grantor' | 'grantee'>[]
  readonly columns: readonly {
    readonly number: number
    readonly name: string
    readonly acl: readonly AclEntry[]
  }[]
}

/** Leaves out those that are gone. */
async function readTargets(tx: Tx, targets: readonly Target[]): Promise<TargetRow[]> {
  return await tx<TargetRow[]>`
    select (t.at - 1)::int4 as at, ${aclAsJson(tx, tx`c.relacl`, watchedPrivileges)} as acl,
      ${writersAsJson(tx)} as writing,
      coalesce((select json_agg(json_build_object('number', a.attnum, 'name', a.attname,
          'acl', ${aclAsJson(tx, tx`a.attacl`, watchedPrivileges)}) order by a.attnum) from pg_catalog.pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attacl is not null), '[]') as columns
    from unnest(${targets.map(({ relation }) => relation?.oid ?? null)}::int8[]::oid[],
      ${targets.map(({ twin }) => twin?.schema ?? null)}::text[], ${targets.map(({ twin }) => twin?.name ?? null)}::text[])
      with ordinality as t(oid, schema, name, at)
    join pg_catalog.pg_class c on c.oid = coalesce(t.oid, (select k.oid from pg_catalog.pg_class k
      join pg_catalog.pg_namespace n on n.oid = k.relnamespace where n.nspname = t.schema and k.relname = t.name))`
}

function renewRelation(relation: Relation, row: TargetRow, names: RoleNames): Relation {
  const { acl, columns, writing } = row
  const isOfOthers = ({ grantee }: { grantee: string | null }) => grantee !== relation.owner
  const aclOf = new Map(columns.map((column) => [column.number, column.acl]))
  return {
    ...relation,
    grants: listGrants(acl, names).filter(isOfOthers),
    writers: nameRoles(writing, names),
    columns: relation.columns.map((column) => ({
      ...column,
      acl: listGrants(aclOf.get(column.number) ?? [], names),
    })),
    rights: [
      ...listRights(acl, names, null),
      ...columns.flatMap((column) => listRights(column.acl, names, column.number)),
    ].filter(isOfOthers),
  }
}

function renewTwin(twin: ObservedTwin, { acl, columns }: TargetRow, names: RoleNames): ObservedTwin {
  const columnGrants = columns.flatMap((column) =>
    listGrants(column.acl, names).map((grant) => ({ ...grant, column: column.name })),
  )
  return { ...twin, grants: listGrants(acl, names), columnGrants }
}

/** Without the owner's own: it has them by default, and PostgreSQL writes them down with the first change. */
function listEntries({ owner, grants, columns, rights, writers }: Relation): unknown[] {
  const ofColumns = columns.flatMap(({ number, acl }) => acl.map((grant) => ({ ...grant, column: number })))
  return [
    ...[...grants, ...ofColumns].filter(({ grantee }) => grantee !== owner),
    ...writers.filter(({ grantee }) => grantee !== owner).map(({ grantor, grantee }) => [grantor, grantee]),
    ...rights.map(({ grantor, grantee, grantable, privilege, column }) => [
      grantor,
      grantee,
      grantable,
      privilege,
      column,
    ]),
  ]
}

function listTwinEntries({ owner, grants, columnGrants }: ObservedTwin): unknown[] {
  return [...grants, ...columnGrants].filter(({ grantee }) => grantee !== owner)
}
