import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { Relation, Snapshot } from '../catalog.ts'
import { actAs } from '../grants/grant-steps.ts'
import { isTwinOwnerName } from '../names.ts'
import type { Step } from '../plan.ts'

/**
 * A database that has another name now, or is a copy of another one, has twins of a role that carries the old name. They
 * go, with what that role was given here; tables stay closed, and twins are made anew by the role of this name.
 */
export function dropInherited(snapshot: Snapshot, twinOwner: string): Step[] {
  const there = new Set(snapshot.twins.map(({ schema, name }) => quoteQualified(schema, name)))
  const twins = snapshot.guards.flatMap(({ twin }) => {
    const owner = twin && snapshot.shadowSchemas.get(twin.schema)
    const isInherited = owner && owner !== twinOwner && isTwinOwnerName(owner)
    return isInherited ? [{ owner, name: quoteQualified(twin.schema, twin.name) }] : []
  })
  return [...Map.groupBy(twins, ({ owner }) => owner)].flatMap(([owner, all]): Step[] => {
    const names = all.map(({ name }) => name).filter((name) => there.has(name))
    const why = 'twins from when the database had another name'
    const role = quoteIdentifier(owner)
    const stays: Step = { sql: 'SELECT 1', why: 'the other database has it' }
    return [
      ...(names.length > 0 ? [{ sql: `DROP VIEW ${names.join(', ')}`, why, as: owner }] : []),
      ...snapshot.relations.filter(isOpenTo(owner, snapshot)).map((relation) => ({
        sql: `REVOKE ALL ON ${quoteQualified(relation.schema, relation.name)} FROM ${role}`,
        why: 'it reads nothing any more',
        ...actAs(relation),
      })),
      { sql: `DROP OWNED BY ${role}`, why: 'its schemas and privileges', as: owner },
      { sql: `DROP ROLE ${role}`, why: 'it has nothing to own', orElse: stays },
    ]
  })
}

/** Twins are taken for views here; they are gone by then. */
function isOpenTo(role: string, { shadowSchemas }: Snapshot) {
  return ({ schema, managed, grants, columns }: Relation) =>
    managed !== 'not' &&
    shadowSchemas.get(schema) !== role &&
    [...grants, ...columns.flatMap(({ acl }) => acl)].some(({ grantee }) => grantee === role)
}
