import type { AuditEntry } from '../../api/operation.ts'
import type { DatabaseRow } from '../databases/database-row.ts'
import { fold } from '../place.ts'
import { enableByRule } from '../policy/enable-by-rule.ts'
import { renderPolicy } from '../policy/policy.ts'
import { recordEntries } from '../policy/record-entries.ts'
import { auditChange, type Site } from '../resource.ts'
import { type Rule, renderRule, ruleKind, ruleParts, ruleRows } from '../rules/rule.ts'
import { allFields } from '../rules/rule-fields.ts'
import type { MaskingDocument, NamedRule } from './document.ts'

export interface DocumentChange {
  readonly created: readonly NamedRule[]
  readonly updated: readonly { readonly before: Rule; readonly after: NamedRule }[]
  readonly deleted: readonly Rule[]
  readonly unchanged: readonly Rule[]
}

/** Pure: what it takes to get from the stored rules to those of a document. A new spelling of a name is an update. */
export function compareRules(stored: readonly Rule[], wanted: readonly NamedRule[]): DocumentChange {
  const byKey = new Map(stored.map((rule) => [fold(rule.name), rule]))
  const kept = new Set(wanted.map(({ name }) => fold(name)))
  const known = wanted.flatMap((after) => {
    const before = byKey.get(fold(after.name))
    return before ? [{ before, after }] : []
  })
  const isSame = ({ before, after }: (typeof known)[number]) =>
    allFields.every((field) => before[field] === after[field])
  return {
    created: wanted.filter(({ name }) => !byKey.has(fold(name))),
    updated: known.filter((one) => !isSame(one)),
    deleted: stored.filter(({ name }) => !kept.has(fold(name))),
    unchanged: known.filter(isSame).map(({ before }) => before),
  }
}

export function countChanges({ created, updated, deleted, unchanged }: DocumentChange) {
  return {
    created: created.length,
    updated: updated.length,
    deleted: deleted.length,
    unchanged: unchanged.length,
  }
}

/** The policy that a document leaves: a new rule enables one whose state no caller has chosen. */
export function planPolicy(database: DatabaseRow, { policy }: MaskingDocument, hasNewRules: boolean) {
  const isEnabled = hasNewRules && !database.policyStateChosen
  return { ...database, ...(isEnabled && { policyState: 'Enabled' as const }), ...policy }
}

/** Stores what differs, and audits each change as if it had come by itself. The database is locked. */
export async function storeDocument(
  site: Site,
  audit: (entry: AuditEntry) => void,
  database: DatabaseRow,
  stored: readonly Rule[],
  document: MaskingDocument,
): Promise<{
  readonly database: DatabaseRow
  readonly rules: readonly Rule[]
  readonly change: DocumentChange
}> {
  const { tx } = site
  const change = compareRules(stored, document.rules)
  const { created, updated, deleted, unchanged } = change
  // Rules that take each other's columns would break the constraint one by one, so changed rows are written anew.
  await ruleRows.removeAll(
    tx,
    database.id,
    [...deleted, ...updated.map(({ before }) => before)].map(({ name }) => name),
  )
  const changed = updated.map(({ before, after }) => ({ ...after, name: before.name }))
  const written = ruleParts.complete(
    site,
    database,
    await ruleRows.insertAll(tx, database.id, [...changed, ...created]),
  )
  const byKey = new Map(written.map((rule) => [fold(rule.name), rule]))
  const { action } = ruleKind
  for (const rule of deleted) auditChange(audit, `${action}/delete`, renderRule, rule, undefined)
  for (const { before } of updated)
    auditChange(audit, `${action}/write`, renderRule, before, byKey.get(fold(before.name)))
  for (const { name } of created)
    auditChange(audit, `${action}/write`, renderRule, null, byKey.get(fold(name)))
  const after = await storePolicy(site, audit, database, document, created.length > 0)
  return { database: after, rules: inOrder([...unchanged, ...written]), change }
}

async function storePolicy(
  site: Site,
  audit: (entry: AuditEntry) => void,
  database: DatabaseRow,
  { policy }: MaskingDocument,
  hasNewRules: boolean,
): Promise<DatabaseRow> {
  const { tx } = site
  if (!policy) return hasNewRules ? enableByRule(tx, audit, database) : database
  const after = { ...database, ...policy, policyStateChosen: true }
  if (JSON.stringify(after) === JSON.stringify(database)) return database
  const [row] = await tx<{ version: number }[]>`
    update masked_database set policy_state = ${after.policyState}, policy_state_chosen = true,
      policy_mode = ${after.policyMode}, exempt_principals = ${after.exemptPrincipals},
      not_contained = ${after.notContained}, policy_version = nextval('resource_version')
    where id = ${database.id} returning policy_version as version`
  await recordEntries(site, database, after)
  const action = 'Vendor.Sql/servers/databases/dataMaskingPolicies/write'
  const render = (row: DatabaseRow, namespace: string) => renderWithMode(row, namespace, site.apiVersion)
  auditChange(audit, action, render, database, after)
  return { ...after, policyVersion: row?.version ?? 0 }
}

/** The policy of the specification, and what this service adds to it. */
function renderWithMode(database: DatabaseRow, namespace: string, apiVersion: string | undefined) {
  const shown = renderPolicy(database, namespace, apiVersion)
  return { ...shown, properties: { ...shown.properties, enforcementMode: database.policyMode } }
}

/** As lists have them: by schema, table and column, compared by bytes as the database does. */
function inOrder(rules: readonly Rule[]): Rule[] {
  const keyOf = ({ schemaName, tableName, columnName }: Rule) =>
    [schemaName, tableName, columnName].map((name) => Buffer.from(name))
  const keyed = rules.map((rule) => ({ rule, key: keyOf(rule) }))
  const compare = (one: readonly Buffer[], other: readonly Buffer[]) =>
    one.map((part, at) => part.compare(other[at] ?? Buffer.alloc(0))).find((order) => order !== 0) ?? 0
  return keyed.sort((one, other) => compare(one.key, other.key)).map(({ rule }) => rule)
}
