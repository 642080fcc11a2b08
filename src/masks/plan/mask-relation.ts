import { quoteQualified } from '../../db/quote.ts'
import type { MaskRecord, Oid, Snapshot, Statement } from '../model.ts'
import { pinsOf } from './assign-masks.ts'
import { actAs, changeAcl, namesOf } from './grant-statements.ts'
import { compareAcl, isSameList } from './grants.ts'
import type { Group, MaskedRelation } from './model.ts'
import { closeTwin, dropTwin, openTwin } from './open-twin.ts'
import { writeOpened, writeRecord } from './write-records.ts'

/** Fifth pass, second half: one group for each relation. */
export function maskRelation(
  snapshot: Snapshot,
  wanted: MaskedRelation,
  record: MaskRecord | undefined,
  gone: ReadonlySet<Oid>,
  readers: ReadonlyMap<Oid, ReadonlySet<Oid>>,
): Group {
  const { relation, twin } = wanted
  const close = closeRelation(snapshot, wanted, record, readers)
  const standing = snapshot.twins.find(({ oid }) => oid === record?.twin)
  // A twin that is dropped takes the twins over it along.
  const isMoved = standing && twin && (standing.schema !== twin.schema || standing.name !== twin.name)
  const made = isMoved || relation.reads.some((oid) => gone.has(oid)) ? undefined : standing
  const isStale = made && (record?.basis !== twin?.basis || record?.rule !== made.rule)
  const opening = twin
    ? openTwin(snapshot, wanted, twin, record, made)
    : dropTwin(snapshot, relation.oid, record, made)
  const isOpened = record?.isOpened && close.length + opening.length === 0
  const opened = { sql: writeOpened(snapshot.guard.schema, relation.oid), why: 'its twin is as it is meant' }
  return {
    oid: relation.oid,
    target: quoteQualified(relation.schema, relation.name),
    close,
    closeTwin: isStale ? closeTwin(snapshot, relation.oid, made) : [],
    open: twin && !isOpened ? [...opening, opened] : opening,
    waitsFor: [relation.oid, ...relation.reads],
    needs: twin ? [twin.owner, twin.schema] : [],
  }
}

/** The record comes first: it says what the grants were before. */
function closeRelation(
  { guard, server, roleNames, twinOwners }: Snapshot,
  { relation, before, acl, masks, hidden }: MaskedRelation,
  record: MaskRecord | undefined,
  readers: ReadonlyMap<Oid, ReadonlySet<Oid>>,
): Statement[] {
  const { oid, schema, name } = relation
  const ours = new Set(twinOwners.map(({ role }) => role))
  const change = compareAcl(relation, acl, ours)
  const pins = pinsOf(masks)
  const isRecorded =
    record?.granted &&
    isSameList(record.before, before) &&
    isSameList(record.granted, acl) &&
    writePins(record.pins) === writePins(pins)
  const hidesAll = relation.columns.every(({ number }) => hidden.has(number))
  const kept = {
    sql: writeRecord(guard.schema, { oid, before, granted: acl, pins, hidesAll }),
    why: 'what masking changes',
  }
  const target = { on: quoteQualified(schema, name), columns: namesOf(relation), ...actAs(relation) }
  const names = { version: server.version, roleNames }
  const isReader = (role: Oid) => readers.get(oid)?.has(role) ?? false
  const former = relation.acl.flatMap(({ grantee }) =>
    ours.has(grantee) && !isReader(grantee) ? [grantee] : [],
  )
  const formerly = { revoked: [...new Set(former)], passedOn: [], granted: [] }
  return [
    ...(isRecorded ? [] : [kept]),
    ...(change
      ? changeAcl(names, { ...target, why: `hides masked columns of ${schema}.${name}` }, change)
      : []),
    ...changeAcl(names, { ...target, why: 'its twin has another owner, or is not there' }, formerly),
  ]
}

/** jsonb keeps no order of keys. */
const writePins = (pins: MaskRecord['pins']) =>
  JSON.stringify(pins.map((one) => [one.rule, one.schema, one.table, one.column, one.number, one.computed]))
