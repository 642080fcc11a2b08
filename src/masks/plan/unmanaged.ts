import type { Note } from '../../contracts/note.ts'
import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { Oid, Relation, Snapshot } from '../model.ts'
import { hasLoginForm } from '../names.ts'
import type { Shown } from './follow-views.ts'
import { nameRoles } from './grant-statements.ts'

/** A relation that masks reach and whose owner the binding cannot act for. */
export interface Unmanaged {
  readonly relation: Relation
  /** Grantees that are to see masks and read raw values there. 0: PUBLIC. */
  readonly grantees: readonly Oid[]
  /** The statements that take SELECT from them. */
  readonly remedy: string
  /** The role that it could belong to instead. */
  readonly nextOwner: string
}

/** Tables, and views that show what is hidden with the rights of their owner, of whatever columns. */
export function listUnmanaged(snapshot: Snapshot, shown: ReadonlyMap<Oid, Shown>): Unmanaged[] {
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
    const grantees = listReaders(snapshot, relation, sources)
    const next = [...sources].find((each) => each.acting !== 'not')?.ownerName ?? snapshot.server.binding.name
    found.push({ relation, grantees, remedy: writeRemedy(snapshot, relation, grantees), nextOwner: next })
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

/** Exempt roles keep what they have through PUBLIC. The service revokes grants to login roles. */
function writeRemedy(snapshot: Snapshot, relation: Relation, grantees: readonly Oid[]): string {
  const on = quoteQualified(relation.schema, relation.name)
  const names = [...snapshot.exempt.named].flatMap((oid) => snapshot.roleNames.get(oid) ?? [])
  const keepers = grantees.includes(0) ? names.filter((name) => !hasLoginForm(name)) : []
  const list = nameRoles(snapshot, grantees).join(', ')
  const revoke = `REVOKE SELECT ON ${on} FROM ${list} CASCADE`
  if (keepers.length === 0) return revoke
  const grant = `GRANT SELECT ON ${on} TO ${keepers.map(quoteIdentifier).join(', ')}`
  return ['BEGIN', grant, revoke, 'COMMIT'].join(';\n')
}

/** Null: it shows nothing to roles that are not exempt. */
export function describeUnmanaged(snapshot: Snapshot, one: Unmanaged): Note | null {
  const { relation, grantees, remedy, nextOwner } = one
  const { schema, name, kind, owner, ownerName } = relation
  const target = `${schema}.${name}`
  const change = `ALTER ${kind.toUpperCase()} ${quoteQualified(schema, name)} OWNER TO ${quoteIdentifier(nextOwner)}`
  const write = (text: string): Note => ({
    code: 'NotMasked',
    target,
    message: `${target} is not masked: it ${text}`,
  })
  if (kind === 'table' || kind === 'foreign table') {
    // No statement makes the role of the binding a member of a superuser, or of a login role of ours.
    const isChanged = snapshot.superusers.has(owner) || hasLoginForm(ownerName)
    const way = isChanged
      ? `Run: ${change}.`
      : `GRANT ${quoteIdentifier(ownerName)} to the role of the binding.`
    return write(`can only be by its owner. ${way}`)
  }
  if (grantees.length === 0) return null
  const readers = nameRoles(snapshot, grantees).join(', ')
  const shows =
    kind === 'view'
      ? 'shows masked columns with the rights of'
      : 'holds masked columns from before the rule, of'
  const close = `To close it, run: ${remedy.replaceAll('\n', ' ')}.`
  return write(
    [
      `${shows} ${quoteIdentifier(ownerName)}, and can only be closed by its owner.`,
      `It shows them to ${readers}. ${close} To give it a masked twin instead: ${change}.`,
    ].join(' '),
  )
}
