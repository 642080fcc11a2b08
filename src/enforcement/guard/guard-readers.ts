import { quoteIdentifier } from '../../db/quote.ts'
import type { Relation, Snapshot } from '../catalog.ts'
import { everybody } from '../names.ts'
import type { Desired, Plan, Step } from '../plan.ts'
import { isTwinOwner } from '../twins/assign-twin-owners.ts'

/**
 * Owners of masked tables, and exempt roles: `pg_dump` of the whole database locks and copies every table, ours too, so
 * backups of these roles would fail. Owners of views over masked tables alone cannot make such a dump, and any role can own
 * one. A role without any other right here gets none: it could not be dropped any more.
 */
export function listGuardReaders(
  snapshot: Snapshot,
  exemptRoles: readonly string[],
  isEverybodyExempt: boolean,
  { masked, released }: Pick<Desired, 'masked' | 'released'>,
): string[] {
  const { guardedOwners, guardReaders, exemptGrantees, roles, user } = snapshot
  const countReleased = (owner: string) =>
    released.filter(({ relation }) => relation?.owner === owner && isTable(relation)).length
  const owners = [
    ...guardedOwners
      .filter(({ owner, relations }) => relations > countReleased(owner))
      .map(({ owner }) => owner),
    ...masked.flatMap(({ relation }) => (isTable(relation) ? [relation.owner] : [])),
  ]
  // A reader stays one while it is exempt: its grants may come and go with masks.
  const granted = new Set([
    ...guardReaders.map(({ role }) => role),
    ...masked.flatMap(({ grants, columnGrants }) =>
      [...grants, ...columnGrants].map(({ grantee }) => grantee),
    ),
  ])
  const exempt = [...exemptGrantees, ...exemptRoles.filter((role) => granted.has(role))]
  const named = [...new Set([...owners, ...exempt])].filter((name) => {
    const role = roles.get(name)
    return role && !role.superuser && name !== user && !isTwinOwner(snapshot, name)
  })
  return [...(isEverybodyExempt ? [everybody] : []), ...named].sort()
}

function isTable({ kind }: Relation): boolean {
  return kind === 'table' || kind === 'foreign table'
}

/** None where nothing is masked: the schema goes then. */
export function grantGuard({ snapshot, desired }: Plan): Step[] {
  if (desired.masked.length === 0) return []
  const wanted = new Set(desired.guardReaders)
  const whole = new Set(snapshot.guardReaders.filter(({ isWhole }) => isWhole).map(({ role }) => role))
  const missing = desired.guardReaders.filter((role) => !whole.has(role))
  const others = snapshot.guardReaders.map(({ role }) => role).filter((role) => !wanted.has(role))
  const schema = quoteIdentifier(snapshot.guard.schema)
  const list = (roles: readonly string[]) =>
    roles.map((role) => (role === everybody ? 'PUBLIC' : quoteIdentifier(role))).join(', ')
  const change = (verb: string, roles: string, why: string): Step => ({
    sql: [
      `${verb} SELECT ON ALL TABLES IN SCHEMA ${schema} ${roles}`,
      `${verb} USAGE ON SCHEMA ${schema} ${roles}`,
    ].join(';\n'),
    why,
  })
  return [
    ...(missing.length > 0
      ? [change('GRANT', `TO ${list(missing)}`, 'pg_dump of owners and exempt roles reads it')]
      : []),
    ...(others.length > 0
      ? [change('REVOKE', `FROM ${list(others)}`, 'the record is closed to other roles')]
      : []),
  ]
}
