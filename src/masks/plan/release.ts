import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { MaskRecord, Relation, Snapshot, Statement } from '../model.ts'
import { actAs, changeAcl, namesOf } from './grant-statements.ts'
import { compareAcl, recallBefore } from './grants.ts'
import type { Group } from './model.ts'
import { dropTwin } from './open-twin.ts'
import { forget } from './write-records.ts'

/** Gives the privileges from before masking back. All are by the owner. */
export function release(snapshot: Snapshot, record: MaskRecord, relation: Relation | undefined): Group[] {
  const { guard, server, roleNames } = snapshot
  const why = 'masking ends'
  const target = relation ? quoteQualified(relation.schema, relation.name) : `relation ${record.oid}`
  const group = { oid: record.oid, target, close: [], closeTwin: [], waitsFor: [record.oid], needs: [] }
  const change = relation && compareAcl(relation, recallBefore(relation, record, snapshot))
  const given =
    relation && change
      ? changeAcl(
          { version: server.version, roleNames },
          { on: target, columns: namesOf(relation), why, ...actAs(relation) },
          change,
        )
      : []
  // The twin goes first, and also where the binding cannot act for the owner of the relation.
  const made = snapshot.twins.find(({ oid }) => oid === record.twin)
  const dropped = dropTwin(snapshot, record.oid, record, made)
  const open = [...given, { sql: forget(guard.schema, record.oid), why }]
  return [...(dropped.length > 0 ? [{ ...group, open: dropped }] : []), { ...group, open }]
}

export function leave({ guard, schemas, twinOwners, server }: Snapshot): Statement[] {
  const why = 'masking ends'
  const names = [...new Set(twinOwners.map(({ name }) => name))]
  const isUser = ({ users }: Snapshot['schemas'][number], name: string) =>
    twinOwners.some((one) => one.name === name && users.includes(one.role))
  const shadowed = schemas.filter(({ shadow }) => shadow)
  return [
    ...shadowed.map(({ shadow }) => ({
      // Without CASCADE: what is not ours stays, and keeps the schema.
      sql: `DROP SCHEMA IF EXISTS ${quoteIdentifier(shadow?.name ?? '')}`,
      why,
    })),
    ...names.flatMap((name) => [
      ...shadowed
        .filter((schema) => isUser(schema, name))
        .map((schema) => ({
          sql: `REVOKE USAGE ON SCHEMA ${quoteIdentifier(schema.name)} FROM ${quoteIdentifier(name)}`,
          why,
        })),
      {
        sql: `DROP OWNED BY ${quoteIdentifier(name)}`,
        why,
        ...(server.binding.isSuperuser ? {} : { as: name }),
      },
      { sql: `DROP ROLE ${quoteIdentifier(name)}`, why },
    ]),
    { sql: `DROP SCHEMA ${quoteIdentifier(guard.schema)} CASCADE`, why },
  ]
}
