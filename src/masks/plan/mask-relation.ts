import type { MaskRecord, Oid, Relation, Snapshot, Statement } from '../model.ts'
import { pinsOf } from './assign-masks.ts'
import { changeAcl, formGroup, say, targetOf } from './grant-statements.ts'
import { isSameList, recallBefore } from './grants.ts'
import type { Group, MaskedRelation } from './model.ts'
import { closeTwin, dropTwin, openTwin } from './open-twin.ts'
import { forget, writeOpened, writeRecord } from './write-records.ts'

/** Fifth pass: one group for each relation. `readers`: owners of twins that read it. */
export function maskRelation(
  snapshot: Snapshot,
  wanted: MaskedRelation,
  readers: ReadonlySet<Oid> = new Set(),
): Group {
  const { relation, twin, record, made } = wanted
  const { oid, reads } = relation
  const close = closeRelation(snapshot, wanted, readers)
  const opening = twin ? openTwin(snapshot, wanted, twin) : dropTwin(snapshot, wanted, wanted.refused)
  const isOpened = !wanted.isKept || (record?.isOpened && close.length + opening.length === 0)
  const opened = say('its twin is as it is meant', writeOpened(snapshot.guard.schema, oid))
  return formGroup(oid, targetOf(relation, '').on, [...opening, ...(isOpened ? [] : opened)], {
    close,
    closeTwin: made && !wanted.isKept ? closeTwin(snapshot, oid, made) : [],
    needs: twin ? [twin.owner, twin.schema, ...reads] : [],
  })
}

/** The record comes first: it says what the grants were before. */
function closeRelation(
  snapshot: Snapshot,
  { relation, before, acl, masks, hidden, record }: MaskedRelation,
  readers: ReadonlySet<Oid>,
): Statement[] {
  const { oid, schema, name } = relation
  const pins = pinsOf(masks)
  const isRecorded =
    record?.granted &&
    isSameList(record.before, before) &&
    isSameList(record.granted, acl) &&
    writePins(record.pins) === writePins(pins)
  const hidesAll = relation.columns.every(({ number }) => hidden.has(number))
  const kept = writeRecord(snapshot.guard.schema, { oid, before, pins }, acl, hidesAll)
  const now = relation.acl.filter(({ grantee }) => !readers.has(grantee))
  return [
    ...(isRecorded ? [] : say('what masking changes', kept)),
    ...changeAcl(snapshot, targetOf(relation, `hides masked columns of ${schema}.${name}`), now, acl),
  ]
}

/** jsonb keeps no order of keys. */
const writePins = (pins: MaskRecord['pins']) =>
  JSON.stringify(pins.map((one) => [one.schema, one.table, one.column, one.number, one.computed]))

/** The end of the twin alone where the binding cannot act for the owner of the relation, and of the mask. */
export function release(snapshot: Snapshot, record: MaskRecord, relation: Relation | undefined): Group[] {
  const why = 'masking ends'
  const dropped = dropTwin(snapshot, { relation: record, record, made: record.made })
  const ended = say(why, forget(snapshot.guard.schema, record.oid))
  if (!relation) return [endGroup(record, relation, [...dropped, ...ended])]
  const before = recallBefore(relation, record, snapshot)
  const rest = [...changeAcl(snapshot, targetOf(relation, why), relation.acl, before), ...ended]
  const parts = relation.acting === 'not' ? [dropped, rest] : [[...dropped, ...rest]]
  return parts.map((open) => endGroup(record, relation, open))
}

export const endGroup = ({ oid }: MaskRecord, relation: Relation | undefined, open: Statement[]): Group =>
  formGroup(oid, relation ? targetOf(relation, '').on : `relation ${oid}`, open)
