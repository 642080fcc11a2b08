import { keyOf, type MaskRecord, type Oid, type Privilege, type Relation, type Snapshot } from '../model.ts'

/** One privilege for each grantee, with the grant option where one of its grantors gave that. */
export function listGranted(acl: readonly Privilege[]): Privilege[] {
  const list = new Map<string, Privilege>()
  for (const { column, grantee, kind, grantable } of acl) {
    const one = { column, grantee, kind, grantable }
    if (!list.get(keyOf(one))?.grantable) list.set(keyOf(one), one)
  }
  return [...list.values()]
}

const wordOf = (one: Privilege) => `${keyOf(one)}:${one.grantable}`

const without = (list: readonly Privilege[], others: readonly Privilege[]) => {
  const known = new Set(others.map(wordOf))
  return list.filter((one) => !known.has(wordOf(one)))
}

export const isSameList = (one: readonly Privilege[], other: readonly Privilege[]) =>
  one.length === other.length && without(one, other).length === 0

/**
 * The privileges from before masking, with what operators did since. A grantee that lost one of those which the last
 * turn left at the relation or its twin keeps what is there now, and one that lost a grant option has none; what was
 * granted since is added.
 */
export function recallBefore(
  relation: Relation,
  record: MaskRecord | null,
  { twinOwners, roleNames }: Pick<Snapshot, 'twinOwners' | 'roleNames'>,
): Privilege[] {
  const ours = new Set(twinOwners.map(({ role }) => role))
  const now = listGranted(relation.acl.filter(({ grantee }) => !ours.has(grantee)))
  if (!record) return now
  const columns = new Set([0, ...relation.columns.map(({ number }) => number)])
  const isThere = ({ column, grantee }: Privilege) =>
    columns.has(column) && (grantee === 0 || roleNames.has(grantee))
  const before = record.before.filter(isThere)
  if (!record.granted) return before
  const granted = record.granted.filter(isThere)
  const { made, rule, isOpened } = record
  // Where all is hidden, none is left at the relation: what a turn left at the twin, and is not there, counts as well.
  const atTwin =
    made && isOpened && made.rule === rule
      ? without(writeTwinAcl(relation, before, made.owner), listGranted(made.acl))
      : []
  const lost = without(granted, now)
  const keys = new Set(now.map(keyOf))
  const revoked = new Set(
    [...lost.filter((one) => !keys.has(keyOf(one))), ...atTwin].map(({ grantee }) => grantee),
  )
  const optionless = new Set(lost.filter(({ grantable }) => grantable).map(({ grantee }) => grantee))
  const kept = before
    .filter(({ grantee }) => !revoked.has(grantee))
    .map((one) => ({ ...one, grantable: one.grantable && !optionless.has(one.grantee) }))
  const added = without(now, granted).filter((one) => one.grantable || !optionless.has(one.grantee))
  return listGranted([...kept, ...added, ...now.filter(({ grantee }) => revoked.has(grantee))])
}

/**
 * Third pass: the access list of a relation under masks. Exempt roles keep theirs, also what they had through PUBLIC
 * or a group that loses it. All others keep SELECT on open columns.
 */
export function writeAcl(
  relation: Relation,
  before: readonly Privilege[],
  hidden: ReadonlySet<number>,
  { exempt, exemptMembers }: Pick<Snapshot, 'exempt' | 'exemptMembers'>,
): Privilege[] {
  if (hidden.size === 0) return [...before]
  const isExempt = (grantee: Oid) => exempt.everybody || exempt.roles.has(grantee)
  const open = relation.columns.map(({ number }) => number).filter((number) => !hidden.has(number))
  const kept = before.filter(({ grantee }) => isExempt(grantee))
  const lost = before.filter(({ grantee }) => !isExempt(grantee))
  const shown = lost
    .filter(({ kind }) => kind === 'SELECT')
    .flatMap((one) => (one.column === 0 ? open.map((column) => ({ ...one, column })) : [one]))
    .filter(({ column }) => !hidden.has(column))
  const lent = lost.flatMap((one) => {
    const members = one.grantee === 0 ? [...exempt.named] : (exemptMembers.get(one.grantee) ?? [])
    return members
      .filter((role) => role !== relation.owner)
      .map((grantee) => ({ ...one, grantee, grantable: false }))
  })
  const whole = new Set([...kept, ...lent].filter(({ column }) => column === 0).map(keyOf))
  const needed = lent.filter((one) => one.column === 0 || !whole.has(keyOf({ ...one, column: 0 })))
  return listGranted([...kept, ...shown, ...needed])
}

/** The access list of a twin: SELECT as before masking, and for the owner of the relation. */
export function writeTwinAcl(relation: Relation, before: readonly Privilege[], twinOwner: Oid): Privilege[] {
  const places = new Map([[0, 0], ...relation.columns.map(({ number }, at) => [number, at + 1] as const)])
  const reader: Privilege = { column: 0, grantee: relation.owner, kind: 'SELECT', grantable: false }
  const read = [...before, reader].filter(({ kind, grantee }) => kind === 'SELECT' && grantee !== twinOwner)
  return listGranted(
    read.flatMap((one) => {
      const column = places.get(one.column)
      return column === undefined ? [] : [{ ...one, column, grantable: false }]
    }),
  )
}
