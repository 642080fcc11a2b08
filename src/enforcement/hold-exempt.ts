import { quoteIdentifier } from '../db/quote.ts'
import type { Sql } from '../db/sql.ts'
import type { GuardRecord } from './guard/read-record.ts'
import type { FindNeighbours } from './logins/find-neighbours.ts'
import type { HeldRole, Policy } from './policy.ts'

/**
 * The policy without the entries that would newly exempt a login role of another database: a person could connect to this one with
 * it. Entries that count already stay, as a role that administers one could end the exemption by a grant.
 */
export async function holdExempt(
  sql: Sql,
  policy: Policy,
  record: GuardRecord | null,
  find: FindNeighbours | undefined,
): Promise<Policy> {
  if (!find || policy.rules.length === 0) return policy
  const isRecorded = (entry: string, oid: number) =>
    record?.madeHere && (record.exemptOids ? record.exemptOids.includes(oid) : record.exempt.includes(entry))
  const fresh = policy.exemptRoles.flatMap((entry) => {
    const oid = policy.judgedRoles?.get(entry) ?? null
    return oid === null || isRecorded(entry, oid) ? [] : [{ entry, oid }]
  })
  if (fresh.length === 0) return policy
  const found = await find(
    sql,
    fresh.map(({ oid }) => oid),
  )
  const heldRoles = fresh.flatMap(({ entry, oid }): HeldRole[] => {
    const ids = found.filter(({ holds }) => holds === oid).map(({ databaseId }) => databaseId)
    return ids.length === 0 ? [] : [{ entry, neighbours: [...new Set(ids)] }]
  })
  if (heldRoles.length === 0) return policy
  const held = new Set(heldRoles.map(({ entry }) => entry))
  return { ...policy, exemptRoles: policy.exemptRoles.filter((entry) => !held.has(entry)), heldRoles }
}

/** Names neither the other databases nor their people: a reader of this one may not know them. */
export function describeHeld({ entry }: HeldRole): string {
  const role = quoteIdentifier(entry)
  return `${role} is not exempt so far: login roles of another database of the server are members of it, and people could connect to this one with them. The entry counts once they have lost the role. Where that database is not in service any more, REVOKE ${role} FROM these login roles.`
}
