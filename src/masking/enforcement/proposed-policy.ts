import { splitEntries } from '../policy/exempt-entries.ts'
import { maskFields, type RuleProperties } from '../rules/rule-fields.ts'

/** Rules and exempt entries that are not stored. */
export interface ProposedPolicy {
  readonly rules: readonly EnforcedRule[]
  readonly exempt: readonly string[]
}

export type EnforcedRule = ReturnType<typeof asEnforced>
type NamedRule = RuleProperties & { readonly name: string }

/** A rule in the words of enforcement. */
export function asEnforced<R extends NamedRule>(rule: R) {
  const { schemaName, tableName, columnName, ...rest } = rule
  return { ...rest, schema: schemaName, table: tableName, column: columnName }
}

interface PolicyFields {
  readonly policyState: 'Enabled' | 'Disabled'
  readonly policyMode: 'Enforce' | 'Observe'
  readonly exemptPrincipals: string
}

/** The masks of a policy as it would be stored; one that is off, or observed only, has none. */
export function proposePolicy(policy: PolicyFields | null, rules: readonly NamedRule[]): ProposedPolicy {
  const isEnforced = policy?.policyState === 'Enabled' && policy.policyMode === 'Enforce'
  return {
    rules: isEnforced ? rules.map(asEnforced) : [],
    exempt: splitEntries(policy?.exemptPrincipals ?? ''),
  }
}

/** Whether there are more masks than before: a new or changed one, or one for a role whose exemption ends. */
export function addsMasks(before: ProposedPolicy, after: ProposedPolicy): boolean {
  const masks = new Set(before.rules.map(nameMask))
  const exempt = new Set(after.exempt)
  const endsExemption = before.exempt.some((entry) => !exempt.has(entry))
  return after.rules.some((rule) => !masks.has(nameMask(rule))) || (after.rules.length > 0 && endsExemption)
}

function nameMask(rule: EnforcedRule): string {
  const { schema, table, column, maskingFunction } = rule
  return JSON.stringify([schema, table, column, maskingFunction, ...maskFields.map((field) => rule[field])])
}
