import type { Policy, Target } from './policy.ts'

/**
 * The tables whose rules differ between two policies: the tables to look at after a change, however many other tables
 * there are. Undefined when the change concerns all of them.
 */
export function changedTables(before: Policy | undefined, after: Policy): Target[] | undefined {
  if (!before || before.rules.length === 0 || after.rules.length === 0) return undefined
  if (JSON.stringify(before.exemptRoles) !== JSON.stringify(after.exemptRoles)) return undefined
  if (JSON.stringify(before.heldOids) !== JSON.stringify(after.heldOids)) return undefined
  if (JSON.stringify(before.namedEntries) !== JSON.stringify(after.namedEntries)) return undefined
  if (JSON.stringify(before.suspended) !== JSON.stringify(after.suspended)) return undefined
  const [old, current] = [byTable(before), byTable(after)]
  const changed = [...new Set([...old.keys(), ...current.keys()])].filter(
    (key) => old.get(key) !== current.get(key),
  )
  return changed.map((key) => {
    const [schema, table] = JSON.parse(key) as [string, string]
    return { schema, table }
  })
}

function byTable({ rules }: Policy): Map<string, string> {
  const groups = Map.groupBy(rules, ({ schema, table }) => JSON.stringify([schema, table]))
  return new Map([...groups].map(([key, list]) => [key, JSON.stringify(list)]))
}
