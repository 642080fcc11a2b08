import { allFields, columnFields, optionalFields } from '../masking/rules/rule-fields.ts'
import type { FilePolicy, FileRule, RulesFile } from './rules-file.ts'

export interface RulesDiff {
  readonly create: readonly FileRule[]
  readonly update: readonly { readonly before: FileRule; readonly after: FileRule }[]
  /** There and not in the file; deleted only when that was asked for. */
  readonly absent: readonly FileRule[]
  readonly unchanged: number
  readonly policy: { readonly before: FilePolicy; readonly after: FilePolicy } | null
}

/** Pure: what it takes to get from what is there to what the file says. */
export function diffRules(file: RulesFile, rules: readonly FileRule[], policy: FilePolicy): RulesDiff {
  const there = new Map(rules.map((rule) => [rule.name.toLowerCase(), rule]))
  const wanted = new Set(file.rules.map(({ name }) => name.toLowerCase()))
  const known = file.rules.flatMap((after) => {
    const before = there.get(after.name.toLowerCase())
    return before ? [{ before, after }] : []
  })
  const update = known.filter(({ before, after }) => changesOf(before, after).length > 0)
  return {
    create: file.rules.filter(({ name }) => !there.has(name.toLowerCase())),
    update,
    absent: rules.filter(({ name }) => !wanted.has(name.toLowerCase())),
    unchanged: known.length - update.length,
    policy: file.policy && !samePolicy(policy, file.policy) ? { before: policy, after: file.policy } : null,
  }
}

export function isEmpty({ create, update, absent, policy }: RulesDiff, prune: boolean): boolean {
  return create.length + update.length === 0 && policy === null && !(prune && absent.length > 0)
}

export function renderDiff(diff: RulesDiff, prune: boolean): string {
  const lines = [
    ...diff.create.map((rule) => `+ ${rule.name}: ${describeRule(rule)}`),
    ...diff.update.flatMap(({ before, after }) => [
      `~ ${after.name}:`,
      ...changesOf(before, after).map(({ field, from, to }) => `    ${field}: ${from} → ${to}`),
    ]),
    ...diff.absent.map((rule) =>
      prune
        ? `- ${rule.name}: ${describeRule(rule)}`
        : `  ${rule.name} is not in the file, and stays without --prune`,
    ),
    ...(diff.policy
      ? [
          `~ policy: ${describePolicy(diff.policy.before)} → ${describePolicy({ ...diff.policy.before, ...diff.policy.after })}`,
        ]
      : []),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

function changesOf(before: FileRule, after: FileRule) {
  return allFields
    .map((field) => ({ field, from: show(before[field]), to: show(after[field]) }))
    .filter(({ from, to }) => from !== to)
}

function show(value: string | undefined): string {
  return value === undefined ? '(none)' : JSON.stringify(value)
}

export function describeRule(rule: FileRule): string {
  const column = columnFields.map((field) => quote(rule[field])).join('.')
  const options = optionalFields
    .filter((field) => rule[field] !== undefined)
    .map((field) => ` ${field}=${JSON.stringify(rule[field])}`)
  return `${column} ${rule.maskingFunction}${options.join('')}`
}

/** As PostgreSQL would want it; also keeps control characters of other people's names off the terminal. */
function quote(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : JSON.stringify(name)
}

function describePolicy({ dataMaskingState, exemptPrincipals, ...settings }: FilePolicy): string {
  return `${dataMaskingState}${describeSettings(settings)} (exempt: ${exemptPrincipals.join('; ') || 'none'})`
}

/** What of a policy is not as it is by itself. */
export function describeSettings({
  enforcementMode,
  notContained,
}: Pick<FilePolicy, 'enforcementMode' | 'notContained'>): string {
  const mode = enforcementMode === 'Observe' ? ', observed only' : ''
  return `${mode}${notContained === 'refuse' ? ', roles not contained are refused' : ''}`
}

function samePolicy(before: FilePolicy, after: FilePolicy): boolean {
  const normal = ({ exemptPrincipals }: FilePolicy) => [...new Set(exemptPrincipals.map((one) => one.trim()))]
  return (
    before.dataMaskingState === after.dataMaskingState &&
    (after.enforcementMode ?? before.enforcementMode) === before.enforcementMode &&
    (after.notContained ?? before.notContained) === before.notContained &&
    normal(before).join('\n') === normal(after).join('\n')
  )
}
