import type { RuleProperties } from '../rules/rule-fields.ts'

/** Rules and exempt entries that are not stored. */
export interface ProposedPolicy {
  readonly rules: readonly EnforcedRule[]
  readonly exempt: readonly string[]
}

export type EnforcedRule = ReturnType<typeof asEnforced>

/** A rule in the words of enforcement. */
export function asEnforced<R extends RuleProperties & { readonly name: string }>(rule: R) {
  const { schemaName, tableName, columnName, ...rest } = rule
  return { ...rest, schema: schemaName, table: tableName, column: columnName }
}
