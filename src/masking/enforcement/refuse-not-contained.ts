import type { Verdict } from '../../contracts/verdict.ts'
import { type Detail, fail, Problem } from '../../kernel/problem.ts'
import type { DatabaseRow } from '../databases/database-row.ts'
import { splitEntries } from '../policy/exempt-entries.ts'
import type { Site } from '../resource.ts'
import { ruleRows } from '../rules/rule.ts'
import { lookInto } from './inspection.ts'
import { addsMasks, asEnforced, type ProposedPolicy } from './proposed-policy.ts'

const mostDetails = 100
const mostTold = 3

type Confirm = () => Promise<void>

/** People get contained roles alone, and exempt ones, whatever the state of the policy is now. */
export async function requireContained(
  databaseRole: string,
  database: DatabaseRow,
  { tx, ports }: Pick<Site, 'tx' | 'ports'>,
  confirm: Confirm,
): Promise<void> {
  const rules = await ruleRows.list(tx, database.id)
  const proposed = { rules: rules.map(asEnforced), exempt: splitEntries(database.exemptPrincipals) }
  const found = await judgeProposed(database, proposed, ports, confirm)
  refuseNotContained((found ?? []).filter(({ role }) => role === databaseRole))
}

/**
 * The verdicts under masks that are not stored. Null: the database cannot be looked into, which stops no write; or too many
 * others look into it now, where the verdicts are not needed.
 */
export async function judgeProposed(
  database: DatabaseRow,
  proposed: ProposedPolicy,
  { inspection }: Site['ports'],
  confirm: Confirm,
  isNeeded = true,
): Promise<readonly Verdict[] | null> {
  if (proposed.rules.length === 0) return []
  return inspection.findVerdicts(lookInto(database, confirm), proposed).catch((error: unknown) => {
    const problem = error instanceof Problem ? error.problem : ''
    if (problem === 'BoundDatabaseUnusable' || (problem === 'TooManyRequests' && !isNeeded)) return null
    throw error
  })
}

/** The masks before a write and after it, and the setting that holds after it. */
export interface MaskChange {
  readonly notContained: DatabaseRow['notContained']
  readonly before: ProposedPolicy
  readonly after: ProposedPolicy
}

/** By the setting `refuse`, no write adds masks that would not contain every role. */
export function mayRefuse({ notContained, before, after }: MaskChange): boolean {
  return notContained === 'refuse' && addsMasks(before, after)
}

export async function requireAllContained(
  database: DatabaseRow | null,
  change: MaskChange,
  { ports }: Pick<Site, 'ports'>,
  confirm: Confirm,
): Promise<void> {
  if (!database?.bound || !mayRefuse(change)) return
  refuseNotContained((await judgeProposed(database, change.after, ports, confirm)) ?? [])
}

/** What a write was judged by; the look takes too long to be made behind a lock. */
export type Judged = Pick<DatabaseRow, 'policyVersion' | 'bindingVersion'>

export function judgedBy(database: DatabaseRow | null): Judged {
  return { policyVersion: database?.policyVersion ?? 0, bindingVersion: database?.bindingVersion ?? 0 }
}

/** Behind the lock: under `refuse` a write counts only for the policy and the binding that it was judged by. */
export function requireSame(
  judged: Judged,
  database: DatabaseRow,
  notContained: DatabaseRow['notContained'],
): void {
  const { policyVersion, bindingVersion } = judgedBy(database)
  const isSame = judged.policyVersion === policyVersion && judged.bindingVersion === bindingVersion
  if (notContained === 'refuse' && !isSame)
    fail('Conflict', { reason: 'The policy of the database changed meanwhile. Send the request again.' })
}

/** Answers 409 where one of the roles is not contained, with every reason and the statement that removes it. */
export function refuseNotContained(verdicts: readonly Verdict[]): void {
  const found = verdicts.filter(({ contained }) => !contained)
  if (found.length === 0) return
  const details = found.flatMap(({ role, reasons }) =>
    reasons.map(({ kind, text, statement, via }): Detail => {
      const through = via === null ? '' : ` (through ${via})`
      const remedy = statement === null ? 'Exempt the role.' : `Run: ${statement};`
      return { code: kind, message: `'${role}' ${text}${through}. ${remedy}`, target: role }
    }),
  )
  const told = details.slice(0, mostTold).map(({ message }) => message)
  const more = details.length > mostTold ? [`There are ${details.length - mostTold} reasons more.`] : []
  const reason = [...told, ...more].join(' ')
  fail('RolesNotContained', { count: found.length, reason }, { details: details.slice(0, mostDetails) })
}
