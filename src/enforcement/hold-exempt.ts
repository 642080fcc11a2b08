import { quoteIdentifier } from '../db/quote.ts'
import type { Sql } from '../db/sql.ts'
import type { Role } from './catalog.ts'
import { exemptions, listJudged, withAncestors } from './grants/roles.ts'
import type { GuardRecord } from './guard/read-record.ts'
import type { FindNeighbours, Neighbour } from './logins/find-neighbours.ts'
import type { HeldRole, Policy } from './policy.ts'

/**
 * The policy without the roles that would newly be exempt, by an entry or as members of an entry's role, while a login role of another
 * database is one of them or their member: a person could connect to this database with it. So could a session of a login role that has
 * lost them, at whichever server, until it has ended. Roles that are exempt already stay, as a role that
 * administers one could end the exemption by a grant.
 */
export async function holdExempt(
  sql: Sql,
  policy: Policy,
  record: GuardRecord | null,
  roles: ReadonlyMap<string, Role>,
  find: FindNeighbours | undefined,
): Promise<Policy> {
  if (!find || policy.rules.length === 0 || policy.exemptRoles.length === 0) return policy
  const exempt = exemptions(roles, listJudged(policy, roles))
  if (exempt.everybody) return policy
  const isRecorded = ({ name, oid }: Role) =>
    record?.madeHere && (record.exemptOids ? record.exemptOids.includes(oid) : record.exempt.includes(name))
  const fresh = [...exempt.roles].flatMap((name) => roles.get(name) ?? []).filter((role) => !isRecorded(role))
  if (fresh.length === 0) return policy
  const oids = fresh.map(({ oid }) => oid)
  const found = Map.groupBy(await find(sql, oids), ({ holds }) => holds)
  const held = fresh.filter(({ oid }) => found.has(oid))
  if (held.length === 0) return policy
  const names = new Set(held.map(({ name }) => name))
  const isBelowHeld = ({ name }: Role) =>
    [...withAncestors(roles, name)].some((above) => above !== name && names.has(above))
  return {
    ...policy,
    exemptRoles: policy.exemptRoles.filter((entry) => !names.has(entry)),
    heldOids: held.map(({ oid }) => oid).sort((a, b) => a - b),
    heldRoles: held
      .filter((role) => !isBelowHeld(role))
      .map((role) => describe(role, found.get(role.oid) ?? [])),
  }
}

function describe({ name, oid }: Role, found: readonly Neighbour[]): HeldRole {
  return {
    role: found.some(({ login }) => login === oid) ? null : name,
    neighbours: [...new Set(found.map(({ databaseId }) => databaseId))],
  }
}

/** Names neither the other databases nor their people: a reader of this one may not know them. */
export function describeHeld({ role: name }: HeldRole): string {
  if (name === null)
    return 'A login role of another database of the server was granted an exempt role, and people could connect to this one with it. It is not exempt. Where that database is not in service any more, REVOKE the exempt role FROM it.'
  const role = quoteIdentifier(name)
  return `${role} is not exempt so far: login roles of another database of the server are members of it, and people could connect to this one with them, or sessions from before they lost a role have not ended, at standbys too. It counts once they have lost the role and their sessions have ended. Where that database is not in service any more, REVOKE ${role} FROM these login roles, end their sessions, and DROP those that have lost it.`
}
