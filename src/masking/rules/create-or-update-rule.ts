import { type Answer, type Context, created, ok } from '../../api/operation.ts'
import type { Params } from '../../auth/permission.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import {
  type DatabaseRow,
  findDatabase,
  lockOrCreateDatabase,
  requireDeclared,
} from '../databases/database-row.ts'
import { checkConditions, entityTag } from '../entity-tag.ts'
import {
  apiVersions,
  type MaskingPorts,
  namespaceOfRequest,
  operation,
  withEnforcement,
} from '../operation.ts'
import { canonicalNamespace, policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { enableByRule } from '../policy/enable-by-rule.ts'
import { checkIdentifierLengths, fitColumn } from './fit-column.ts'
import {
  type Rule,
  type RuleInput,
  type RuleProperties,
  renderRule,
  ruleAnswer,
  ruleInput,
  ruleTarget,
} from './rule.ts'
import { readRuleName } from './rule-name.ts'
import { findRule, findRuleOfColumn, insertRule, removeRule, updateRule } from './rule-row.ts'
import { failOn, requireNames, validateRule } from './validate-rule.ts'

const action = 'Vendor.Sql/servers/databases/dataMaskingPolicies/rules'

export const createOrUpdateRule = operation({
  name: 'createOrUpdateRule',
  clause: 'MASK-52',
  summary: 'Create or update a masking rule, or delete it by the state Disabled',
  method: 'PUT',
  path: `${policyPath}/rules/:dataMaskingRuleName`,
  apiVersions,
  permission: { action: `${action}/write`, scope: scopeOf },
  body: ruleInput,
  answers: { 200: ruleAnswer, 201: ruleAnswer },

  async prepare({ params, body, caller, tx, request, ports }): Promise<Prepared> {
    const place = readDatabasePlace(params)
    const name = readRuleName(params)
    const input = body.properties ?? {}
    requireNames(input)
    const database = await findDatabase(tx, caller.tenantId, place)
    if (ports.strict)
      await requireDeclared(tx, caller.tenantId, place, database, namespaceOfRequest({ request, ports }))
    const exists = database !== null && (await findRule(tx, database.id, name)) !== null
    if (exists && input.ruleState === 'Disabled') return { checkedBinding: null }
    const rule = validateRule(input)
    if (database?.bound) await checkAgainstCatalog(rule, database, ports)
    return { checkedBinding: database?.bindingVersion ?? 0 }
  },

  async run(context, prepared): Promise<Answer> {
    const { params, body, caller, tx, request, ports } = context
    const input = body.properties ?? {}
    const database = await lockOrCreateDatabase(tx, caller.tenantId, readDatabasePlace(params))
    const name = readRuleName(params)
    const before = await findRule(tx, database.id, name)
    checkConditions(request, before?.version ?? null)
    const change: Change = { database, name, before, namespace: namespaceOfRequest({ request, ports }) }
    const answer =
      before && input.ruleState === 'Disabled'
        ? await deleteByState(context, change, before, input)
        : await store(context, change, input, prepared)
    return withEnforcement(answer, database, ports, true)
  },
})

interface Prepared {
  /** The version of the binding whose catalog the rule was held against; null: it looked like a deletion. */
  readonly checkedBinding: number | null
}

interface Change {
  readonly database: DatabaseRow
  readonly name: string
  readonly before: Rule | null
  readonly namespace: string
}

type WriteContext = Pick<Context<MaskingPorts, unknown, unknown>, 'tx' | 'audit'> & {
  params: Params
  tx: Query
}

/** A database that cannot be reached does not stop the rule: it is stored, and pending until it can. */
async function checkAgainstCatalog(
  rule: RuleProperties,
  database: DatabaseRow,
  { catalogs }: MaskingPorts,
): Promise<void> {
  failOn(checkIdentifierLengths(rule))
  const reached = await catalogs.findColumn(database, rule)
  if ('value' in reached) failOn(fitColumn(rule, reached.value))
}

async function store(
  { tx, audit }: WriteContext,
  { database, name, before, namespace }: Change,
  input: RuleInput,
  { checkedBinding }: Prepared,
): Promise<Answer> {
  if (checkedBinding !== database.bindingVersion)
    fail('Conflict', {
      reason: 'The rule or the binding of the database changed meanwhile. Send the request again.',
    })
  const rule = validateRule(input)
  const holder = await findRuleOfColumn(tx, database.id, rule)
  if (holder !== null && holder !== before?.name)
    fail('Conflict', {
      reason: `The column has a rule already: '${holder}'. Change that rule, or delete it first.`,
    })
  const after = before
    ? await updateRule(tx, database.id, name, rule)
    : await insertRule(tx, database.id, name, rule)
  audit({
    action: `${action}/write`,
    target: ruleTarget(database.place, after.name),
    before: before && renderRule(before, database, canonicalNamespace),
    after: renderRule(after, database, canonicalNamespace),
  })
  if (!before) await enableByRule(tx, audit, database)
  const shown = renderRule(after, database, namespace)
  return before ? ok(shown, entityTag(after.version)) : created(shown, entityTag(after.version))
}

async function deleteByState(
  { tx, audit }: WriteContext,
  { database, namespace }: Change,
  rule: Rule,
  input: RuleInput,
): Promise<Answer> {
  const named = requireNames(input)
  failOn(
    (['schemaName', 'tableName', 'columnName'] as const)
      .filter((field) => named[field] !== rule[field])
      .map((field) => ({ field, reason: `is not that of the rule to delete, which has '${rule[field]}'` })),
  )
  await removeRule(tx, database.id, rule.name)
  audit({
    action: `${action}/delete`,
    target: ruleTarget(database.place, rule.name),
    before: renderRule(rule, database, canonicalNamespace),
  })
  return ok(renderRule(rule, database, namespace, 'Disabled'))
}
