import type { Note } from '../../contracts/note.ts'
import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { Oid, Relation, Snapshot } from '../../masks/model.ts'
import { hasLoginForm } from '../../masks/names.ts'
import { note } from '../../masks/plan/describe.ts'
import { nameRoles } from '../../masks/plan/grant-statements.ts'
import type { TurnResult } from '../../masks/turn.ts'

export type Described = Pick<TurnResult, 'snapshot' | 'policy' | 'plan' | 'notes'>

/** The notes of a turn, with those about what the policy names and masks cannot follow. */
export function describeTurn({ snapshot, policy, plan, notes }: Described): Note[] {
  const { masked, shown } = plan
  const isRuled = policy.rules.length > 0
  return [
    ...notes,
    ...(isRuled ? snapshot.exempt.unknown.map(exemptsNothing) : []),
    ...(policy.takenNames ?? []).map(exemptNameTaken),
    ...masked.flatMap(({ relation }) =>
      relation.rolePolicies === 'permissive' ? rowSecurity(relation) : [],
    ),
    ...masked.flatMap(({ relation, twin }) =>
      twin?.shows === 'decided' && !relation.isSecurityInvoker ? readsAsReader(relation) : [],
    ),
    ...describeUnmanaged(snapshot, shown),
  ]
}

/** The twin of any other view reads with the rights of the view's owner. */
const readsAsReader = ({ schema, name }: Relation) =>
  note(
    'ReadsAsReader',
    `${schema}.${name}`,
    `Masked columns, row policies or a refresh choose what ${schema}.${name} shows, so its masked twin reads with the`,
    'privileges of its reader. Grant SELECT on the relations that it reads to the roles that are to read it.',
  )

const rowSecurity = ({ schema, name }: Relation) =>
  note(
    'RowSecurity',
    `${schema}.${name}`,
    `${schema}.${name} has row policies for certain roles. Through the masked twin only policies for PUBLIC show rows.`,
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

/** Another role may have created it to be exempt. */
const exemptNameTaken = (entry: string) =>
  note(
    'ExemptNameTaken',
    entry,
    `The role ${quoteIdentifier(entry)} has the name of an exempt entry, which named another role, no role or an`,
    'object of the directory. The entry does not exempt it. If it is meant to, remove the entry and add it again;',
    'instead of a role that has the name of an object of the directory, exempt one of another name.',
  )

/** Relations that masks reach, and that their owners alone can close. Each comes after those that it reads. */
function describeUnmanaged(snapshot: Snapshot, shown: Described['plan']['shown']): Note[] {
  const owners = new Set([...shown.values()].map(({ relation }) => relation.owner))
  const raw = new Set<Oid>()
  return [...shown.values()].flatMap(({ relation }) => {
    const { oid, reads, isSecurityInvoker, acting } = relation
    if (reads.length > 0 && (isSecurityInvoker || !reads.some((each) => raw.has(each)))) return []
    raw.add(oid)
    if (acting !== 'not') return []
    const sources = reads.flatMap((each) => shown.get(each)?.relation ?? [])
    const next = sources.find((each) => each.acting !== 'not')?.ownerName ?? snapshot.server.binding.name
    return notMasked(snapshot, relation, next, owners)
  })
}

/** None: it is a view that shows nothing to roles that are not exempt. `owners`: of relations with masks. */
function notMasked(
  { exempt, server, twinOwners, superusers, roleNames }: Snapshot,
  { schema, name, kind, owner, ownerName, acl }: Relation,
  nextOwner: string,
  owners: ReadonlySet<Oid>,
): Note[] {
  const holder = quoteIdentifier(ownerName)
  const change = `ALTER ${kind.toUpperCase()} ${quoteQualified(schema, name)} OWNER TO ${quoteIdentifier(nextOwner)}`
  const write = (...text: readonly string[]) => [
    note('NotMasked', `${schema}.${name}`, `${schema}.${name} is not masked: it`, ...text),
  ]
  // No statement makes the role of the binding a member of a superuser, or of a login role of ours.
  const isGranted = !superusers.has(owner) && !hasLoginForm(ownerName)
  if (!kind.endsWith('view'))
    return write(
      'can only be by its owner.',
      isGranted ? `GRANT ${holder} to the role of the binding.` : `Run: ${change}.`,
    )
  const trusted = new Set([...owners, ...exempt.roles, ...superusers, ...twinOwners.map(({ role }) => role)])
  const readers = new Set(acl.flatMap(({ kind: right, grantee }) => (right === 'SELECT' ? grantee : [])))
  const roles = [...readers].filter((one) => one !== server.binding.oid && !trusted.has(one))
  if (exempt.everybody || roles.length === 0) return []
  return write(
    `shows hidden columns with the rights of ${holder}, or has copies of them, and can only be closed by its owner.`,
    `It shows them to ${nameRoles({ roleNames }, roles).join(', ')}. Run: ${change}.`,
  )
}
