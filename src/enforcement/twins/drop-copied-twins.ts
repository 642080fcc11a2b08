import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { Relation, Snapshot } from '../catalog.ts'
import { actAs } from '../grants/grant-steps.ts'
import { isTwinOwnerName } from '../names.ts'
import type { Step } from '../plan.ts'
import { isTwinOwner } from './assign-twin-owners.ts'

/**
 * A database that has another name now, or is a copy of another one, has twins of roles that carry the old name. They go,
 * with what those roles were given here; tables stay closed, and twins are made anew by the roles of this name.
 */
export function dropInherited(snapshot: Snapshot, twinOwner: string): Step[] {
  const there = new Set(snapshot.twins.map(({ schema, name }) => quoteQualified(schema, name)))
  const twins = snapshot.guards.flatMap(({ twin }) => {
    const owner = twin && snapshot.shadowSchemas.get(twin.schema)
    const isInherited = owner && owner !== twinOwner && isTwinOwnerName(owner)
    return isInherited ? [{ owner, name: quoteQualified(twin.schema, twin.name) }] : []
  })
  if (twins.length === 0) return []
  const homes = Map.groupBy(twins, ({ owner }) => owner)
  const roles = [...new Set([...listInheritedReaders(snapshot), ...homes.keys()])]
  const why = 'twins from when the database had another name'
  return [
    ...[...homes].flatMap(([owner, all]): Step[] => {
      const names = all.map(({ name }) => name).filter((name) => there.has(name))
      return names.length > 0 ? [{ sql: `DROP VIEW ${names.join(', ')}`, why, as: owner }] : []
    }),
    ...roles.flatMap((role) => dropOwned(snapshot, role)),
    // Readers have rights in the schemas, which go with their owner.
    ...roles.filter(isKnown(snapshot)).map((role) => ({
      sql: `DROP ROLE ${quoteIdentifier(role)}`,
      why: 'it has nothing to own',
      orElse: { sql: 'SELECT 1', why: 'the other database has it' },
    })),
  ]
}

function dropOwned(snapshot: Snapshot, owner: string): Step[] {
  const role = quoteIdentifier(owner)
  return [
    ...snapshot.relations.filter(isOpenTo(owner, snapshot)).map((relation) => ({
      sql: `REVOKE ALL ON ${quoteQualified(relation.schema, relation.name)} FROM ${role}`,
      why: 'it reads nothing any more',
      ...actAs(relation),
    })),
    ...(isKnown(snapshot)(owner)
      ? [{ sql: `DROP OWNED BY ${role}`, why: 'its schemas and privileges', as: owner }]
      : listSchemas(snapshot, owner).map((schema) => ({
          sql: `DROP SCHEMA ${quoteIdentifier(schema)}`,
          why: 'its twins are gone',
          as: owner,
          orElse: { sql: 'SELECT 1', why: 'it has objects of others' },
        }))),
  ]
}

/** Any role with CREATEROLE can give such a name to a role of its own, or of an operator: only what is a twin goes then. */
function isKnown({ twinRoles }: Snapshot): (name: string) => boolean {
  const known = twinRoles.filter(({ isOurs, isBare }) => isOurs || isBare)
  return (name) => known.some((role) => role.name === name)
}

function listSchemas({ guards, shadowSchemas }: Snapshot, owner: string): string[] {
  const schemas = new Set(guards.flatMap(({ twin }) => twin?.schema ?? []))
  return [...schemas].filter((schema) => shadowSchemas.get(schema) === owner)
}

/** Roles that read for twins under the old name, those that served one owner each. */
function listInheritedReaders(snapshot: Snapshot): string[] {
  const { relations, twinRoles, user, superuser } = snapshot
  const isOurs = (name: string) =>
    superuser ||
    twinRoles.some((one) => one.name === name && one.members.some(({ member }) => member === user))
  const readers = relations
    .flatMap(({ grants, columns }) => [...grants, ...columns.flatMap(({ acl }) => acl)])
    .flatMap(({ grantee }) => (grantee !== null && isTwinOwnerName(grantee) ? [grantee] : []))
  return [...new Set(readers)].filter((name) => !isTwinOwner(snapshot, name) && isOurs(name))
}

/** Twins are taken for views here; they are gone by then. */
function isOpenTo(role: string, { shadowSchemas }: Snapshot) {
  return ({ schema, managed, grants, columns }: Relation) =>
    managed !== 'not' &&
    !isTwinOwnerName(shadowSchemas.get(schema) ?? '') &&
    [...grants, ...columns.flatMap(({ acl }) => acl)].some(({ grantee }) => grantee === role)
}
