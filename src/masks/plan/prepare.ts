import { quoteIdentifier } from '../../db/quote.ts'
import type { Oid, Snapshot, Statement } from '../model.ts'
import { nameRoles } from './grant-statements.ts'
import { createGuards, createWatch } from './guard-tables.ts'
import type { MaskedRelation, Preparation } from './model.ts'
import { writeShadow, writeTwinOwner } from './write-records.ts'

/** The place of the records. Nothing can be closed without it. */
export function prepareRecords({ guard, server, isWatched }: Snapshot): Statement[] {
  const watch = server.binding.isSuperuser && !isWatched ? createWatch(guard.schema) : []
  const tables = guard.isThere ? [] : createGuards(guard.schema)
  return [...tables, ...watch].map((sql) => ({ sql, why: 'a place for records' }))
}

/** Fifth pass, first half: the roles and schemas that twins stand on. One that fails holds up its twins alone. */
export function prepareTwins(snapshot: Snapshot, masked: readonly MaskedRelation[]): Preparation[] {
  const { twinOwners, schemas } = snapshot
  const known = new Set(twinOwners.map(({ name }) => name))
  const owners = new Map(
    masked.flatMap(({ relation, twin }) =>
      twin?.by === 'itself' ? [[twin.owner, relation.owner] as const] : [],
    ),
  )
  const roles = [...owners]
    .filter(([name]) => !known.has(name))
    .map(([name, served]) => ({ name, statements: createTwinOwner(snapshot, name, served) }))
  const spaces = Map.groupBy(
    masked.flatMap(({ relation, twin }) => (twin ? [{ source: relation.schema, twin }] : [])),
    ({ source }) => source,
  )
  const stands = [...spaces].flatMap(([source, twins]): Preparation[] => {
    const schema = schemas.find(({ name }) => name === source)
    const name = twins[0]?.twin.schema
    if (!schema || name === undefined) return []
    const makers = [...new Set(twins.map(({ twin }) => twin.owner))].filter((owner) => owners.has(owner))
    const statements = [
      ...(schema.shadow ? [] : createShadow(snapshot, source, name)),
      ...makers.flatMap((maker) => letIn(snapshot, schema, name, maker)),
      ...shareSchema(snapshot, schema, quoteIdentifier(name)),
    ]
    return [{ name, statements }]
  })
  return [...roles, ...stands].filter(({ statements }) => statements.length > 0)
}

function createTwinOwner({ guard, server }: Snapshot, name: string, served: Oid): Statement[] {
  const why = 'a role to own twins'
  const option = server.version >= 160000 ? ' WITH SET TRUE, INHERIT FALSE' : ''
  return [
    { sql: `CREATE ROLE ${quoteIdentifier(name)} NOLOGIN`, why },
    { sql: `GRANT ${quoteIdentifier(name)} TO CURRENT_USER${option}`, why },
    { sql: writeTwinOwner(guard.schema, served, name), why },
  ]
}

function letIn(
  { twinOwners }: Snapshot,
  { name, users, shadow }: Snapshot['schemas'][number],
  twins: string,
  maker: string,
): Statement[] {
  const oid = twinOwners.find((one) => one.name === maker)?.role
  const isIn = (list: readonly Oid[] | undefined) => oid !== undefined && list?.includes(oid)
  const role = quoteIdentifier(maker)
  const creates = {
    sql: `GRANT CREATE, USAGE ON SCHEMA ${quoteIdentifier(twins)} TO ${role}`,
    why: 'a schema for twins',
  }
  const reads = {
    sql: `GRANT USAGE ON SCHEMA ${quoteIdentifier(name)} TO ${role}`,
    why: 'twins read tables there',
  }
  return [...(isIn(shadow?.users) ? [] : [creates]), ...(users.includes(0) || isIn(users) ? [] : [reads])]
}

function createShadow(snapshot: Snapshot, source: string, shadow: string): Statement[] {
  const { guard, server, defaults } = snapshot
  const why = 'a schema for twins'
  const given = nameRoles(snapshot, defaults.get(server.binding.oid)?.schemas ?? [])
  return [
    { sql: `CREATE SCHEMA ${quoteIdentifier(shadow)}`, why },
    ...(given.length > 0
      ? [{ sql: `REVOKE ALL ON SCHEMA ${quoteIdentifier(shadow)} FROM ${given.join(', ')}`, why }]
      : []),
    { sql: writeShadow(guard.schema, source, shadow), why },
  ]
}

/** The roles that may use a schema may use that of its twins, and no other. Only owners of twins create there. */
function shareSchema(
  snapshot: Snapshot,
  { users, shadow }: Snapshot['schemas'][number],
  name: string,
): Statement[] {
  const { twinOwners, server } = snapshot
  const ours = new Set([...twinOwners.map(({ role }) => role), server.binding.oid])
  const excess = shadow?.excess ?? []
  const now = (shadow?.users ?? []).filter((oid) => !excess.includes(oid))
  const write = (sql: (roles: string) => string, oids: readonly Oid[]): Statement[] => {
    const roles = nameRoles(snapshot, oids).join(', ')
    return roles === '' ? [] : [{ sql: sql(roles), why: 'its users are those of the schema of the tables' }]
  }
  const missing = users.filter((oid) => !now.includes(oid) && !ours.has(oid))
  const others = now.filter((oid) => !users.includes(oid) && !ours.has(oid))
  return [
    ...write((from) => `REVOKE ALL ON SCHEMA ${name} FROM ${from} CASCADE`, [...excess, ...others]),
    ...write((to) => `GRANT USAGE ON SCHEMA ${name} TO ${to}`, missing),
  ]
}
