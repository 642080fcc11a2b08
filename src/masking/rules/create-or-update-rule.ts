import type { Answer, AuditEntry } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { storeChild } from '../children.ts'
import { type DatabaseRow, findDeclared, lockOrCreateDatabase } from '../databases/database-row.ts'
import { proposePolicy } from '../enforcement/proposed-policy.ts'
import {
  type Judged,
  judgedBy,
  requireAllContained,
  requireSame,
} from '../enforcement/refuse-not-contained.ts'
import { checkConditions } from '../entity-tag.ts'
import { type MaskingPorts, operation, originalApiVersions, withEnforcement } from '../operation.ts'
import { checkFreeName, fold, readDatabasePlace, scopeOf } from '../place.ts'
import { enableByRule } from '../policy/enable-by-rule.ts'
import { auditChange, type Site, siteOf } from '../resource.ts'
import { checkIdentifierLengths, fitColumn } from './fit-column.ts'
import {
  describedRule,
  type Rule,
  renderRule,
  ruleAnswer,
  ruleInput,
  ruleKind,
  ruleParts,
  rulePath,
  ruleRows,
} from './rule.ts'
import { columnFields, type RuleProperties } from './rule-fields.ts'
import { refuseRule, requireNames, validateRule } from './validate-rule.ts'

const { action } = ruleKind
const parameter = 'dataMaskingRuleName'

export const createOrUpdateRule = operation({
  name: 'createOrUpdateRule',
  clause: 'MASK-52',
  summary: 'Create or update a masking rule, or delete it by the state Disabled',
  method: 'PUT',
  path: rulePath,
  apiVersions: originalApiVersions,
  permission: { action: `${action}/write`, scope: scopeOf },
  body: ruleInput,
  describedBody: describedRule,
  answers: { 200: ruleAnswer, 201: ruleAnswer },

  /** Returns what the rule was held against; null: it looked like a deletion. */
  async prepare(context): Promise<Judged | null> {
    const site = siteOf(context)
    const input = context.body.properties ?? {}
    readDatabasePlace(site.params)
    const name = checkFreeName(site.params, parameter)
    requireNames(input)
    const database = await findDeclared(site)
    const isDeletion = input.ruleState === 'Disabled' && database !== null
    if (isDeletion && (await ruleRows.find(site.tx, database.id, name)) !== null) return null
    const rule = validateRule(input)
    if (database?.bound) {
      await checkAgainstCatalog(rule, database, site.ports)
      await refuseByRule({ ...rule, name }, database, site, context.confirm)
    }
    return judgedBy(database)
  },

  async run(context, judged): Promise<Answer> {
    const site = siteOf(context)
    const input = context.body.properties ?? {}
    const name = checkFreeName(site.params, parameter)
    const database = await lockOrCreateDatabase(site, `${action}/write`)
    const before = await ruleKind.find(site, database, true)
    checkConditions(site.request, before?.version ?? null)
    if (before && input.ruleState === 'Disabled') {
      const answer = await deleteByState(site, context.audit, database, before, requireNames(input))
      return withEnforcement(answer, database, site.ports, true)
    }
    if (judged === null || judged.bindingVersion !== database.bindingVersion)
      fail('Conflict', {
        reason: 'The rule or the binding of the database changed meanwhile. Send the request again.',
      })
    requireSame(judged, database, database.notContained)
    const answer = await storeChild<RuleProperties, Rule>(site, context.audit, {
      kind: ruleKind,
      parts: ruleParts,
      database,
      name,
      before,
      properties: validateRule(input),
      explainHolder: (holder) =>
        `The column has a rule already: '${holder}'. Change that rule, or delete it first.`,
    })
    if (!before) await enableByRule(site.tx, context.audit, database)
    return withEnforcement(answer, database, site.ports, true)
  },
})

async function refuseByRule(
  rule: RuleProperties & { readonly name: string },
  database: DatabaseRow,
  site: Site,
  confirm: () => Promise<void>,
): Promise<void> {
  const { notContained, policyStateChosen } = database
  if (notContained === 'report') return
  const stored = await ruleRows.list(site.tx, database.id)
  const others = stored.filter(({ name }) => fold(name) !== fold(rule.name))
  // As `enableByRule` does.
  const isEnabled = others.length === stored.length && !policyStateChosen
  const next = isEnabled ? { ...database, policyState: 'Enabled' as const } : database
  const after = proposePolicy(next, [...others, rule])
  await requireAllContained(
    database,
    { notContained, before: proposePolicy(database, stored), after },
    site,
    confirm,
  )
}

/** A database that cannot be reached does not stop the rule: it is stored, and pending until it can. */
export async function checkAgainstCatalog(
  rule: RuleProperties,
  database: DatabaseRow,
  { catalogs }: MaskingPorts,
): Promise<void> {
  refuseRule(checkIdentifierLengths(rule))
  const reached = await catalogs.findColumns(database, [rule])
  if ('value' in reached) refuseRule(reached.value.flatMap((column) => fitColumn(rule, column)))
}

async function deleteByState(
  { tx, namespace, apiVersion }: Site,
  audit: (entry: AuditEntry) => void,
  database: DatabaseRow,
  rule: Rule,
  named: Pick<RuleProperties, (typeof columnFields)[number]>,
): Promise<Answer> {
  refuseRule(
    columnFields
      .filter((field) => named[field] !== rule[field])
      .map((field) => ({ field, reason: `is not that of the rule to delete, which has '${rule[field]}'` })),
  )
  await ruleRows.remove(tx, database.id, rule.name)
  auditChange(audit, `${action}/delete`, renderRule, rule, undefined)
  return { status: 200, body: renderRule(rule, namespace, apiVersion, 'Disabled') }
}
