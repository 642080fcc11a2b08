import type { Note } from '../../contracts/note.ts'
import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { Column, Oid, Relation, Snapshot } from '../model.ts'
import { hasLoginForm } from '../names.ts'
import type { Policy, Rule } from '../policy.ts'
import type { Shown } from './follow-views.ts'
import { nameRoles } from './grant-statements.ts'
import type { MaskedRelation } from './model.ts'

/** Notes about what the policy names and masks cannot follow, apart from those of the masks themselves. */
export function describeAround(
  snapshot: Snapshot,
  policy: Pick<Policy, 'rules' | 'takenNames'>,
  masked: readonly MaskedRelation[],
  shown: ReadonlyMap<Oid, Shown>,
): Note[] {
  const isRuled = policy.rules.length > 0
  const { unknown, namesakes } = snapshot.exempt
  return [
    ...(isRuled ? unknown.map(exemptsNothing) : []),
    ...(isRuled ? namesakes.map(exemptsNoRole) : []),
    ...(policy.takenNames ?? []).map(exemptNameTaken),
    ...masked.flatMap(({ relation }) => (relation.rolePolicies === 'none' ? [] : rowSecurity(relation))),
    ...masked.flatMap(({ relation, twin }) =>
      twin?.shows === 'decided' && !relation.isSecurityInvoker ? readsAsReader(relation) : [],
    ),
    ...listUnmanaged(snapshot, shown).flatMap((one) => describeUnmanaged(snapshot, one)),
  ]
}

const note = (code: Note['code'], target: string, ...message: readonly string[]): Note => ({
  ...{ code, target, message: message.join(' ') },
})

const closed = 'It is closed to all roles that are not exempt.'

export const noTwin = ({ schema, name }: Relation, reason: string) =>
  note(
    'NoTwin',
    `${schema}.${name}`,
    `${schema}.${name} shows masked data and has no masked twin: ${reason}. ${closed}`,
  )

/** The twin of any other view reads with the rights of the view's owner. */
const readsAsReader = ({ schema, name }: Relation) =>
  note(
    'ReadsAsReader',
    `${schema}.${name}`,
    `Masked columns, row policies or a refresh choose what ${schema}.${name} shows, so its masked twin reads with the`,
    'privileges of its reader. Grant SELECT on the relations that it reads to the roles that are to read it.',
  )

const rowSecurity = ({ schema, name, rolePolicies }: Relation) =>
  note(
    'RowSecurity',
    `${schema}.${name}`,
    `${schema}.${name} has row policies`,
    rolePolicies === 'restrictive'
      ? `that restrict certain roles, and no masked twin. ${closed}`
      : 'for certain roles. Through the masked twin only policies for PUBLIC show rows.',
  )

/** An entry may be of a role that does not exist yet; it is more often a name that was mistyped. */
const exemptsNothing = (entry: string) =>
  note(
    'ExemptsNothing',
    entry,
    `The exempt list names ${quoteIdentifier(entry)}, which is neither a role of the database nor a user, application`,
    'or group of the directory: it exempts no one. A role that gets the name later is not exempt either: create it,',
    'then remove the entry and add it again.',
  )

/** The operator meant the object: a masked role may have created a role of the name beforehand. */
const exemptsNoRole = (entry: string) =>
  note(
    'ExemptsNoRole',
    entry,
    `The exempt list names ${quoteIdentifier(entry)}, which is an object of the directory: the database role of the`,
    'same name is not exempt. If it is meant to be, grant it a role of another name and exempt that one.',
  )

/** Another role may have created it to be exempt. */
const exemptNameTaken = (entry: string) =>
  note(
    'ExemptNameTaken',
    entry,
    `The role ${quoteIdentifier(entry)} has the name of an exempt entry, which named another role, no role or`,
    'an object of the directory before. It is not exempt. If it is meant to be, remove the entry and add it again.',
  )

const targetOf = ({ schema, table, column }: Rule) => `${schema}.${table}.${column}`

export const doesNotFit = (rule: Rule, { type }: Column) =>
  note(
    'FunctionDoesNotFit',
    targetOf(rule),
    `The function ${rule.maskingFunction} does not fit ${targetOf(rule)} of type ${type};`,
    'it is masked with Default.',
  )

export const renamed = (rule: Rule, { schema, name }: Relation, column: Column) =>
  note(
    'ColumnRenamed',
    targetOf(rule),
    `The column ${targetOf(rule)} is now ${schema}.${name}.${column.name} and stays masked.`,
    'Update the rule to its new name.',
  )

export const missing = (rule: Rule) =>
  note(
    'ColumnMissing',
    targetOf(rule),
    `The rule '${rule.name}' names ${targetOf(rule)}, which does not exist.`,
  )

/** A relation that masks reach and whose owner the binding cannot act for. */
interface Unmanaged {
  readonly relation: Relation
  /** Grantees that are to see masks and read raw values there. 0: PUBLIC. */
  readonly grantees: readonly Oid[]
  /** The role that it could belong to instead. */
  readonly nextOwner: string
}

/** Tables, and views that show what is hidden with the rights of their owner, of whatever columns. */
function listUnmanaged(snapshot: Snapshot, shown: ReadonlyMap<Oid, Shown>): Unmanaged[] {
  const found: Unmanaged[] = []
  const raw = new Set<Oid>()
  const beneath = new Map<Oid, ReadonlySet<Relation>>()
  // Each comes after those that it reads.
  for (const { relation } of shown.values()) {
    const { oid, reads, isSecurityInvoker, acting } = relation
    const direct = reads.flatMap((each) => shown.get(each)?.relation ?? [])
    const sources = new Set(direct.flatMap((each) => [...(beneath.get(each.oid) ?? []), each]))
    beneath.set(oid, sources)
    if (reads.length > 0 && (isSecurityInvoker || !reads.some((each) => raw.has(each)))) continue
    raw.add(oid)
    if (acting !== 'not') continue
    const nextOwner = [...sources].find((each) => each.acting !== 'not')?.ownerName
    const grantees = listReaders(snapshot, relation, sources)
    found.push({ relation, grantees, nextOwner: nextOwner ?? snapshot.server.binding.name })
  }
  return found
}

function listReaders(snapshot: Snapshot, relation: Relation, sources: ReadonlySet<Relation>): Oid[] {
  const { exempt, server, twinOwners, superusers } = snapshot
  if (exempt.everybody) return []
  const trusted = new Set([
    ...[relation.owner, server.binding.oid, ...twinOwners.map(({ role }) => role)],
    ...[...exempt.roles, ...superusers],
    ...(relation.kind === 'view' ? [...sources].map(({ owner }) => owner) : []),
  ])
  const readers = relation.acl.filter(({ kind }) => kind === 'SELECT').map(({ grantee }) => grantee)
  return [...new Set(readers)].filter((grantee) => !trusted.has(grantee))
}

/** None: it shows nothing to roles that are not exempt. */
function describeUnmanaged(snapshot: Snapshot, { relation, grantees, nextOwner }: Unmanaged): Note[] {
  const { schema, name, kind, owner, ownerName } = relation
  const holder = quoteIdentifier(ownerName)
  const on = quoteQualified(schema, name)
  const change = `ALTER ${kind.toUpperCase()} ${on} OWNER TO ${quoteIdentifier(nextOwner)}`
  const write = (...text: readonly string[]) => [
    note('NotMasked', `${schema}.${name}`, `${schema}.${name} is not masked: it`, ...text),
  ]
  if (!kind.endsWith('view')) {
    // No statement makes the role of the binding a member of a superuser, or of a login role of ours.
    const isChanged = snapshot.superusers.has(owner) || hasLoginForm(ownerName)
    const join = `GRANT ${holder} TO ${quoteIdentifier(snapshot.server.binding.name)}`
    return write(`can only be by its owner ${holder}. Run: ${isChanged ? change : join}.`)
  }
  if (grantees.length === 0) return []
  const readers = nameRoles(snapshot, grantees).join(', ')
  return write(
    kind === 'view'
      ? 'shows masked columns with the rights of'
      : 'holds masked columns from before the rule, of',
    `${holder}, and can only be closed by its owner. It shows them to ${readers}.`,
    `To close it, run: REVOKE SELECT ON ${on} FROM ${readers} CASCADE.`,
    `To give it a masked twin instead: ${change}.`,
  )
}
