import type { Note } from '../../contracts/note.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import type { Oid, Relation, Snapshot, Statement } from '../model.ts'
import type { Policy } from '../policy.ts'
import { assignMasks } from './assign-masks.ts'
import { noTwin } from './describe.ts'
import { finish, leave, shareGuard } from './finish.ts'
import { followViews, type Shown } from './follow-views.ts'
import { nameRoles, say, writeGrant } from './grant-statements.ts'
import { recallBefore, writeAcl } from './grants.ts'
import { createGuards, createWatch } from './guard-tables.ts'
import { endGroup, maskRelation, release } from './mask-relation.ts'
import type { Group, MaskedRelation } from './model.ts'
import { dropTwin, isAt, isInPlace } from './open-twin.ts'
import { prepareTwins } from './prepare.ts'
import { placeTwin, refused, type TwinContext, type TwinPlace, writeTwin } from './write-twins.ts'

/** What a turn is to do. All closings come before any opening. */
export interface Plan {
  readonly masked: readonly MaskedRelation[]
  /** Everything that shows what is masked, each after what it reads. */
  readonly shown: ReadonlyMap<Oid, Shown>
  /** The place of the records. Nothing can be closed without it. */
  readonly records: readonly Statement[]
  readonly groups: readonly Group[]
  /** Who is exempt, as sessions of others may have to end. */
  readonly finish: readonly Statement[]
  /** The last mask of the database ends. */
  readonly isLeaving: boolean
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
  const { guard, server, isWatched, isWhole } = snapshot
  const { masks, notes } = assignMasks(snapshot, policy.rules)
  const shown = followViews(snapshot, masks)
  const { masked, needed, refusals, drops } = maskAll(snapshot, policy, definitions, shown)
  const released = Map.groupBy(
    [...snapshot.records.values()].filter(({ oid }) => !shown.has(oid)),
    ({ oid }) => snapshot.relations.has(oid),
  )
  const releaseAll = (isThere: boolean) =>
    (released.get(isThere) ?? []).flatMap((one) => release(snapshot, one, snapshot.relations.get(one.oid)))
  const readers = listReaders(masked)
  const isMasking = masked.length > 0
  const isLeaving = isWhole && !isMasking && guard.isThere
  const groups = [
    ...prepareTwins(snapshot, masked),
    // What stands under a name that another twin is to have goes first.
    ...releaseAll(false),
    ...drops,
    ...masked.map((one) => maskRelation(snapshot, one, readers.get(one.relation.oid))),
    ...releaseAll(true),
    ...(isMasking ? shareGuard(snapshot, masked) : []),
    ...(isLeaving ? leave(snapshot) : []),
  ]
  const watch = server.binding.isSuperuser && !isWatched ? createWatch(guard.schema) : []
  return {
    ...{ masked, shown, needed, isLeaving },
    records: isMasking ? [...createRecords(snapshot), ...say('a place for records', ...watch)] : [],
    groups: groups.filter(({ close, open }) => close.length + open.length > 0),
    finish: isMasking ? finish(snapshot) : [],
    notes: [...notes, ...refusals],
  }
}

/** Default privileges of the binding are revoked: no other role reads the records. */
function createRecords(snapshot: Snapshot): Statement[] {
  const { guard, defaults, server } = snapshot
  if (guard.isThere) return []
  const why = 'a place for records'
  const { relations = [], schemas = [] } = defaults.get(server.binding.oid) ?? {}
  const schema = `SCHEMA ${quoteIdentifier(guard.schema)}`
  return [
    ...say(why, ...createGuards(guard.schema)),
    ...writeGrant('REVOKE', `ALL ON ${schema}`, nameRoles(snapshot, schemas), why),
    ...writeGrant('REVOKE', `ALL ON ALL TABLES IN ${schema}`, nameRoles(snapshot, relations), why),
  ]
}

/** The owners of twins that read each relation: for its own twin, or for row policies of another one. */
function listReaders(masked: readonly MaskedRelation[]): Map<Oid, Set<Oid>> {
  const readers = new Map<Oid, Set<Oid>>()
  for (const { relation, twin } of masked) {
    if (twin?.by !== 'itself' || twin.ownerOid === null) continue
    for (const { oid } of [relation, ...relation.policyReads])
      readers.set(oid, (readers.get(oid) ?? new Set()).add(twin.ownerOid))
  }
  return readers
}

/** Third and fourth pass: grants and twins, each relation after those that it reads. */
function maskAll(
  snapshot: Snapshot,
  { suspended }: Pick<Policy, 'suspended'>,
  definitions: Definitions,
  shown: ReadonlyMap<Oid, Shown>,
) {
  const taken = new Set(snapshot.roleNames.values())
  const context: TwinContext = { snapshot, definitions, moves: new Map() }
  const [twinless, gone] = [new Set<Oid>(), new Set<Oid>()]
  const [masked, needed, refusals, drops]: [MaskedRelation[], Oid[], Note[], Group[]] = [[], [], [], []]
  for (const [oid, how] of shown) {
    const { relation, masks, hidden, by } = how
    const record = snapshot.records.get(oid) ?? null
    const place = placeTwin(context, how)
    // Of a former name, or of a relation that was given to an owner that the binding cannot act for, as it would read
    // with the rights of the former owner.
    const isMoved = record?.made ? !isAt(record.made, place) : false
    if (record && (isMoved || relation.acting === 'not'))
      drops.push(endGroup(record, relation, dropTwin(snapshot, { relation, record, made: record.made })))
    if (relation.acting === 'not') {
      twinless.add(oid)
      continue
    }
    const isBelowGone = relation.reads.some((each) => gone.has(each))
    const made = isBelowGone || isMoved ? null : (record?.made ?? null)
    const isSame = !isBelowGone && record?.basis?.split(':')[0] === place.basis
    const isKept = isSame && made !== null && isUntouched(made, relation, place, record.rule)
    const obstacle =
      findObstacle(taken, how, place, suspended) ??
      (isSame && record.isRefused ? refused : undefined) ??
      (relation.reads.some((each) => twinless.has(each)) ? 'a relation that it reads has none' : undefined)
    if (obstacle === undefined && by === 'definition' && !isKept && !definitions.has(oid)) needed.push(oid)
    const before = recallBefore(relation, record, snapshot)
    const kept = isKept ? record.basis : null
    const written = obstacle ?? writeTwin(context, how, place, before, kept)
    const twin = typeof written === 'string' ? null : written
    if (typeof written === 'string') {
      twinless.add(oid)
      refusals.push(noTwin(relation, written))
    }
    if (record?.made && (twin === null || made === null || !isInPlace(made, relation, twin))) gone.add(oid)
    const acl = writeAcl(relation, before, hidden, snapshot)
    masked.push({
      ...{ relation, masks, hidden, before, acl, twin, record, made },
      refused: obstacle === undefined && written === refused ? place.basis : null,
      isKept: isKept && twin !== null,
    })
  }
  return { masked, needed, refusals, drops }
}

/** The twin is as the turn left it that made it. */
const isUntouched = (made: Relation, relation: Relation, place: TwinPlace, rule: string | null) =>
  made.rule === rule &&
  made.ownerName === place.owner &&
  made.columns.length === relation.columns.length &&
  made.columns.every(({ name }, at) => name === relation.columns[at]?.name)

/** Undefined: it can have a twin. */
function findObstacle(
  taken: ReadonlySet<string>,
  { relation, by }: Shown,
  { owner, ownerOid }: TwinPlace,
  suspended: Policy['suspended'],
): string | undefined {
  const isOwn = by === 'itself'
  if (suspended.some(({ schema, table }) => schema === relation.schema && table === relation.name))
    return 'it is suspended'
  if (isOwn && relation.policyStrangers.length > 0)
    return [
      `its row policies read ${relation.policyStrangers.join(', ')}, which the twin would not read as its reader does.`,
      `Let the policies read a view of ${quoteIdentifier(relation.ownerName)} that all readers may read`,
    ].join(' ')
  if (relation.rolePolicies === 'restrictive')
    return 'its restrictive row policies name roles, and would not bind the twin'
  if (!isOwn && !relation.settable) return `the binding cannot act as its owner ${quoteIdentifier(owner)}`
  return ownerOid === null && taken.has(owner) ? `another role is named ${owner}` : undefined
}
