import type { Note } from '../../contracts/note.ts'
import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { MaskRecord, Masks, Oid, Relation, Snapshot, Statement } from '../model.ts'
import type { Policy } from '../policy.ts'
import { assignMasks } from './assign-masks.ts'
import { describeAround, noTwin } from './describe.ts'
import { finish, listNewlyHidden, shareGuard } from './finish.ts'
import { followViews, type Shown } from './follow-views.ts'
import { recallBefore, writeAcl } from './grants.ts'
import { maskRelation } from './mask-relation.ts'
import type { Group, MaskedRelation, Preparation } from './model.ts'
import { dropTwin, isInPlace } from './open-twin.ts'
import { prepareRecords, prepareTwins } from './prepare.ts'
import { leave, release } from './release.ts'
import { listUnmanaged, type Unmanaged } from './unmanaged.ts'
import { basisOf, nameTwin, nameTwinOwner, type TwinContext, writeTwin } from './write-twins.ts'

/** What a turn is to do. All closings come before any opening. */
export interface Plan {
  readonly masked: readonly MaskedRelation[]
  /** Relations that the binding cannot act for. */
  readonly unmanaged: readonly Unmanaged[]
  /** Relations of which columns are hidden that were not. */
  readonly newlyHidden: readonly Oid[]
  /** The place of the records. */
  readonly records: readonly Statement[]
  /** The roles and schemas of twins. */
  readonly stands: readonly Preparation[]
  readonly groups: readonly Group[]
  /** Who is exempt, as sessions of others may have to end, and who may read the records. */
  readonly finish: readonly Statement[]
  /** The end of all masks in the database. */
  readonly leave: readonly Statement[]
  readonly notes: readonly Note[]
  /** Views whose text is needed: `plan` is called again with it. */
  readonly needed: readonly Oid[]
}

type Definitions = TwinContext['definitions']

/** Pure: what the policy asks for, compared with what is there. Nothing to do makes no statements. */
export function plan(
  snapshot: Snapshot,
  policy: Pick<Policy, 'rules' | 'suspended' | 'takenNames'>,
  definitions: Definitions,
): Plan {
  const { masks, notes } = assignMasks(snapshot, policy.rules)
  const shown = followViews(snapshot, masks)
  const records = new Map(snapshot.records.map((one) => [one.oid, one]))
  const { masked, needed, refusals, gone, moved } = maskAll(snapshot, policy, definitions, masks, shown)
  const unmanaged = listUnmanaged(snapshot, shown)
  const byOid = new Map(snapshot.relations.map((one) => [one.oid, one]))
  const released = snapshot.records.filter(({ oid }) => !shown.has(oid))
  const releaseAll = (some: readonly MaskRecord[]) =>
    some.flatMap((record) => release(snapshot, record, byOid.get(record.oid)))
  const readers = listReaders(snapshot, masked)
  const groups = [
    // What stands under a name that another twin is to have goes first.
    ...releaseAll(released.filter(({ oid }) => !byOid.has(oid))),
    ...dropTwins(snapshot, shown, moved),
    ...masked.map((one) => maskRelation(snapshot, one, records.get(one.relation.oid), gone, readers)),
    ...releaseAll(released.filter(({ oid }) => byOid.has(oid))),
  ]
  const isMasking = masked.length > 0
  const isLeaving = snapshot.isWhole && !isMasking && snapshot.guard.isThere
  return {
    ...{ masked, unmanaged, needed },
    newlyHidden: listNewlyHidden(masked, records),
    records: isMasking ? prepareRecords(snapshot) : [],
    stands: isMasking ? prepareTwins(snapshot, masked) : [],
    groups: groups.filter(({ close, open }) => close.length + open.length > 0),
    finish: isMasking ? [...finish(snapshot), ...shareGuard(snapshot, masked)] : [],
    leave: isLeaving ? leave(snapshot) : [],
    notes: [
      ...notes,
      ...refusals,
      ...describeAround(
        snapshot,
        policy,
        masked.map(({ relation }) => relation),
        unmanaged,
      ),
    ],
  }
}

/** The owners of twins that read each relation: for its own twin, or for row policies of another one. */
function listReaders({ twinOwners }: Snapshot, masked: readonly MaskedRelation[]): Map<Oid, Set<Oid>> {
  const readers = new Map<Oid, Set<Oid>>()
  for (const { relation, twin } of masked) {
    const role = twin?.by === 'itself' && twinOwners.find(({ name }) => name === twin.owner)?.role
    if (!role) continue
    for (const oid of [relation.oid, ...relation.policyReads.map((one) => one.oid)])
      readers.set(oid, (readers.get(oid) ?? new Set()).add(role))
  }
  return readers
}

/** Third and fourth pass: grants and twins, each relation after those that it reads. */
function maskAll(
  snapshot: Snapshot,
  { suspended }: Pick<Policy, 'suspended'>,
  definitions: Definitions,
  masks: ReadonlyMap<Oid, Masks>,
  shown: ReadonlyMap<Oid, Shown>,
) {
  const byOid = new Map(snapshot.relations.map((one) => [one.oid, one]))
  const records = new Map(snapshot.records.map((one) => [one.oid, one]))
  const context: TwinContext = { snapshot, definitions, moves: new Map() }
  const twinless = new Set<Oid>()
  const gone = new Set<Oid>()
  const moved = new Set<Oid>()
  const [masked, needed, refusals]: [MaskedRelation[], Oid[], Note[]] = [[], [], []]
  for (const [oid, how] of shown) {
    const relation = byOid.get(oid)
    if (!relation) continue
    if (relation.acting === 'not') {
      twinless.add(oid)
      continue
    }
    const own: Masks = masks.get(oid) ?? new Map()
    const standing = snapshot.twins.find((each) => each.oid === records.get(oid)?.twin)
    const before = recallBefore(relation, records.get(oid), snapshot)
    const acl = writeAcl(relation, before, how.hidden, snapshot)
    const one = { relation, masks: own, hidden: how.hidden, before, acl }
    const isBelowGone = relation.reads.some((each) => gone.has(each))
    const known = isBelowGone ? 'other' : recallTwin(context, relation, own, how, records.get(oid))
    const reason =
      findObstacle(snapshot, relation, how, suspended) ??
      (known === 'refused' ? 'PostgreSQL refused its definition over twins' : undefined) ??
      relation.reads.some((each) => twinless.has(each))
    if (reason === false && how.by === 'definition' && known !== 'kept' && !definitions.has(oid))
      needed.push(oid)
    const twin = reason === false ? writeTwin(context, relation, own, how, before) : reason
    if (typeof twin !== 'object') {
      twinless.add(oid)
      refusals.push(noTwin(relation, twin))
    }
    const place = nameTwin(snapshot, relation)
    if (standing && (standing.schema !== place.schema || standing.name !== place.name)) moved.add(oid)
    if (standing && (isBelowGone || typeof twin !== 'object' || !isInPlace(standing, twin))) gone.add(oid)
    masked.push({ ...one, twin: typeof twin === 'object' ? twin : null })
  }
  return { masked, needed, refusals, gone, moved }
}

/**
 * Twins of relations that have another name by now, and of those that were given to an owner that the binding cannot
 * act for: these would read with the rights of the former owner.
 */
function dropTwins(snapshot: Snapshot, shown: ReadonlyMap<Oid, Shown>, moved: ReadonlySet<Oid>): Group[] {
  const byOid = new Map(snapshot.relations.map((one) => [one.oid, one]))
  return snapshot.records.flatMap((record): Group[] => {
    const { oid } = record
    const relation = byOid.get(oid)
    if (!relation || !shown.has(oid) || !(relation.acting === 'not' || moved.has(oid))) return []
    const made = snapshot.twins.find((one) => one.oid === record.twin)
    const target = quoteQualified(relation.schema, relation.name)
    const open = dropTwin(snapshot, oid, record, made)
    return [{ oid, target, close: [], closeTwin: [], open, waitsFor: [], needs: [] }]
  })
}

/** `kept`: the twin is there, and made from the same. `refused`: PostgreSQL refused to make one from the same. */
function recallTwin(
  context: TwinContext,
  relation: Relation,
  masks: Masks,
  how: Shown,
  record: MaskRecord | undefined,
): 'kept' | 'refused' | 'other' {
  if (!record || record.basis === null) return 'other'
  const { snapshot } = context
  const basis = basisOf(context, relation, masks, how)
  if (record.twin === null) return record.isRefused && record.basis === basis ? 'refused' : 'other'
  const twin = snapshot.twins.find(({ oid }) => oid === record.twin)
  const names = relation.columns.map(({ name }) => name)
  const isSame =
    record.basis === basis && twin?.rule === record.rule && twin.columns.join('\0') === names.join('\0')
  return isSame ? 'kept' : 'other'
}

/** Undefined: it can have a twin. */
function findObstacle(
  snapshot: Snapshot,
  relation: Relation,
  { by }: Shown,
  suspended: Policy['suspended'],
): string | undefined {
  if (suspended.some(({ schema, table }) => schema === relation.schema && table === relation.name))
    return 'it is suspended'
  if (by === 'itself' && relation.policyStrangers.length > 0) return describeStrangers(relation)
  if (relation.rolePolicies === 'restrictive')
    return 'its restrictive row policies name roles, and would not bind the twin'
  if (by === 'definition' && !relation.settable)
    return `the binding cannot act as its owner ${quoteIdentifier(relation.ownerName)}`
  const owner = nameTwinOwner(snapshot, relation.owner)
  if (by === 'itself' && snapshot.takenNames.has(owner)) return `another role is named ${owner}`
  return undefined
}

function describeStrangers({ ownerName, policyStrangers }: Relation): string {
  const tables = policyStrangers.map(({ schema, name }) => quoteQualified(schema, name))
  const read = policyStrangers.map(({ owner }, at) => `${tables[at]} of ${quoteIdentifier(owner)}`)
  const remedy = tables.map((table) => `ALTER TABLE ${table} OWNER TO ${quoteIdentifier(ownerName)}`)
  return [
    `its row policies read ${read.join(', ')}, whose own row policies would read masked tables through the twin.`,
    `Let the policies read a view of ${quoteIdentifier(ownerName)} instead, or run: ${remedy.join('; ')}`,
  ].join(' ')
}
