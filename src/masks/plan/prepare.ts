import { quoteIdentifier } from '../../db/quote.ts'
import type { Oid, Schema, Snapshot, Statement } from '../model.ts'
import { formGroup, nameRoles, say, writeGrant } from './grant-statements.ts'
import type { Group, MaskedRelation, TwinPlan } from './model.ts'
import { writeShadow, writeTwinOwner } from './write-records.ts'

const why = 'a schema for twins'

/** The roles and schemas that twins stand on. One that fails holds up its twins alone. */
export function prepareTwins(snapshot: Snapshot, masked: readonly MaskedRelation[]): Group[] {
  const twins = masked.flatMap(({ relation, twin }) => (twin ? [{ relation, twin }] : []))
  const own = twins.filter(({ twin }) => twin.by === 'itself')
  const owners = new Map(own.map(({ relation, twin }) => [twin.owner, { served: relation.owner, twin }]))
  const groups = [...owners].flatMap(([name, { served, twin }]) =>
    twin.ownerOid === null ? formGroup(name, name, createTwinOwner(snapshot, name, served)) : [],
  )
  const spaces = Map.groupBy(twins, ({ relation }) => relation.schema)
  for (const [source, some] of spaces) {
    const schema = snapshot.schemas.get(source)
    const makers = new Set(some.map(({ twin }) => twin.owner))
    if (schema)
      groups.push(
        formGroup(schema.twins, schema.twins, [
          ...(schema.shadow ? [] : createShadow(snapshot, schema)),
          ...[...owners].flatMap(([name, { twin }]) => (makers.has(name) ? letMake(schema, twin) : [])),
          ...shareSchema(snapshot, schema),
        ]),
      )
  }
  return groups
}

function createTwinOwner({ guard, server }: Snapshot, name: string, served: Oid): Statement[] {
  const option = server.version >= 160000 ? ' WITH SET TRUE, INHERIT FALSE' : ''
  return say(
    'a role to own twins',
    `CREATE ROLE ${quoteIdentifier(name)} NOLOGIN`,
    `GRANT ${quoteIdentifier(name)} TO CURRENT_USER${option}`,
    writeTwinOwner(guard.schema, served, name),
  )
}

/** The owner of twins creates them in their schema, and reads tables in the schema of these. */
function letMake({ name, twins, users, shadow }: Schema, { owner, ownerOid }: TwinPlan): Statement[] {
  const isIn = (list: readonly Oid[]) => ownerOid !== null && list.includes(ownerOid)
  const on = (schema: string) => `USAGE ON SCHEMA ${quoteIdentifier(schema)}`
  const to = [quoteIdentifier(owner)]
  return [
    ...(isIn(shadow?.users ?? []) ? [] : writeGrant('GRANT', `CREATE, ${on(twins)}`, to, why)),
    ...(users.includes(0) || isIn(users) ? [] : writeGrant('GRANT', on(name), to, 'twins read tables there')),
  ]
}

function createShadow(snapshot: Snapshot, { name, twins }: Schema): Statement[] {
  const { guard, server, defaults } = snapshot
  const on = `SCHEMA ${quoteIdentifier(twins)}`
  const given = nameRoles(snapshot, defaults.get(server.binding.oid)?.schemas ?? [])
  return [
    ...say(why, `CREATE ${on}`),
    ...writeGrant('REVOKE', `ALL ON ${on}`, given, why),
    ...say(why, writeShadow(guard.schema, name, twins)),
  ]
}

/** The roles that may use a schema may use that of its twins, and no other. Only owners of twins create there. */
function shareSchema(snapshot: Snapshot, { users, twins, shadow }: Schema): Statement[] {
  const { twinOwners, server } = snapshot
  const ours = new Set([...twinOwners.map(({ role }) => role), server.binding.oid])
  const excess = shadow?.excess ?? []
  const now = (shadow?.users ?? []).filter((oid) => !excess.includes(oid))
  const others = now.filter((oid) => !users.includes(oid) && !ours.has(oid))
  const missing = users.filter((oid) => !now.includes(oid) && !ours.has(oid))
  const on = `ON SCHEMA ${quoteIdentifier(twins)}`
  const shared = 'its users are those of the schema of the tables'
  return [
    ...writeGrant('REVOKE', `ALL ${on}`, nameRoles(snapshot, [...excess, ...others]), shared, ' CASCADE'),
    ...writeGrant('GRANT', `USAGE ${on}`, nameRoles(snapshot, missing), shared),
  ]
}
