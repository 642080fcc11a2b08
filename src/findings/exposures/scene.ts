import type { NamedObject } from '../../contracts/inspection.ts'
import { quoteQualified } from '../../db/quote.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Relation } from '../../masks/model.ts'
import { readingRoles } from '../../masks/names.ts'
import { listExemptNames } from '../../masks/read/snapshot.ts'
import type { TurnResult } from '../../masks/turn.ts'
import { readRoutines } from './routines.ts'

export interface HiddenColumn {
  readonly number: number
  readonly name: string
}

/** A relation that is under a mask, and its hidden columns. */
export interface MaskedRelation extends NamedObject {
  readonly oid: number
  readonly bareName: string
  readonly owner: string
  readonly hidden: readonly HiddenColumn[]
  /** It has rules itself, unlike a view over it. */
  readonly hasRules: boolean
}

/** The masked database as every kind of exposure sees it. */
export type Scene = Awaited<ReturnType<typeof setScene>>

/** The database as the policy would mask it. A role reaches those that it may become. */
export async function setScene(
  sql: Tx,
  { snapshot, plan, policy }: Pick<TurnResult, 'snapshot' | 'plan' | 'policy'>,
) {
  const { version, binding } = snapshot.server
  const self = binding.name
  const masked = plan.masked.map(({ relation, hidden }) => describeRelation(relation, hidden))
  const columns = masked.flatMap(({ oid, hidden }) => hidden.map(({ number }) => ({ oid, number })))
  const roles = await readRoles(sql, version)
  const ofTwins = plan.masked.flatMap(({ twin }) => (twin?.by === 'itself' ? [twin.owner] : []))
  // The role of the binding, and owners of twins.
  const ours = [...new Set([self, ...snapshot.twinOwners.map(({ name }) => name), ...ofTwins])]
  // By themselves or as members of a role that is.
  const exempt = new Set(snapshot.exempt.everybody ? roles.keys() : listExemptNames(snapshot))
  const reached = new Map([...roles.keys()].map((name) => [name, listReached(roles, name)]))
  const reach = (role: string) => reached.get(role) ?? new Set([role])
  // Roles whose code reads raw values.
  const superusers = [...roles.values()].filter(({ superuser }) => superuser).map(({ name }) => name)
  const owners = masked.filter(({ kind }) => kind !== 'view').map(({ owner }) => owner)
  const sources = new Set([...superusers, ...exempt, ...owners, ...readingRoles, ...ours])
  const seers = new Set([...roles.keys()].filter((name) => [...reach(name)].some((one) => sources.has(one))))
  // Roles that are to see masks; with those that they may become and whose rights lead to no raw value.
  const watched = [...roles.values()]
    .flatMap(({ name, canLogIn }) => (canLogIn && !exempt.has(name) && !ours.includes(name) ? name : []))
    .sort()
  const makers = [...new Set(watched.flatMap((role) => [...reach(role)]))].filter((role) => !seers.has(role))
  return {
    ...{ sql, version, self, ours, exempt, roles, masked, seers, watched, makers },
    oids: masked.map(({ oid }) => oid),
    /** The hidden columns, as two lists for `unnest`. */
    hidden: { oids: columns.map(({ oid }) => oid), numbers: columns.map(({ number }) => number) },
    byOid: new Map(masked.map((one) => [one.oid, one])),
    /** Named in the policy, as against members of those. */
    listed: policy.exemptRoles.filter((name) => roles.has(name) || name.toLowerCase() === 'public'),
    reaches: (role: string, target: string) => reach(role).has(target),
    routines: await readRoutines(sql, version, { seers, makers }),
  }
}

function describeRelation(relation: Relation, hidden: ReadonlySet<number>): MaskedRelation {
  const { kind, schema, name: bareName, ownerName: owner, columns } = relation
  const names = { name: quoteQualified(schema, bareName), bareName, owner }
  const shown = columns.filter(({ number }) => hidden.has(number))
  return { ...relation, ...names, hidden: shown, hasRules: !kind.endsWith('view') }
}

interface Role {
  readonly name: string
  readonly superuser: boolean
  readonly canLogIn: boolean
  /** Roles that it is a direct member of. */
  readonly memberOf: readonly string[]
}

/**
 * A member holds a role when it may SET ROLE to it or inherits from it; since 16 an ADMIN option alone gives neither.
 */
async function readRoles(sql: Tx, version: number): Promise<ReadonlyMap<string, Role>> {
  const holds = version >= 160000 ? sql`and (m.inherit_option or m.set_option)` : sql``
  const rows = await sql<Role[]>`
    select r.rolname::text as name, r.rolsuper as superuser, r.rolcanlogin as "canLogIn",
      array(select g.rolname::text from pg_catalog.pg_auth_members m
        join pg_catalog.pg_roles g on g.oid = m.roleid where m.member = r.oid ${holds}) as "memberOf"
    from pg_catalog.pg_roles r`
  return new Map(rows.map((role) => [role.name, role]))
}

/** A role and every role that it is a member of, at any depth. */
function listReached(roles: ReadonlyMap<string, Role>, name: string): ReadonlySet<string> {
  const found = new Set([name])
  for (const each of found) for (const parent of roles.get(each)?.memberOf ?? []) found.add(parent)
  return found
}

/** Grantees that are to see masks; null: PUBLIC. */
export function listMasked({ ours, exempt }: Scene, grantees: readonly (string | null)[]) {
  return grantees.filter((one) => one === null || !(ours.includes(one) || exempt.has(one)))
}

/** The masked roles that are one of the grantees or may become it. Not those that may become the owner. */
export function listReaders(
  scene: Scene,
  owner: string | null,
  grantees: readonly (string | null)[],
): string[] {
  const { watched, roles, reaches } = scene
  const masked = listMasked(scene, grantees)
  return watched.filter(
    (role) =>
      !roles.get(role)?.superuser &&
      !(owner !== null && reaches(role, owner)) &&
      masked.some((grantee) => grantee === null || reaches(role, grantee)),
  )
}
