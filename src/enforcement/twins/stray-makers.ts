import { quoteIdentifier, quoteLiteral } from '../../db/quote.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'
import type { Snapshot } from '../catalog.ts'
import { everybody } from '../names.ts'
import { createRevoked } from '../notes.ts'
import type { Desired, Note, Step } from '../plan.ts'
import { listServing } from './assign-twin-owners.ts'

type Makers = Pick<Desired, 'twinOwner' | 'makers'>

/** Takes CREATE on the schemas of twins from every role that makes no twins there. */
export function revokeStrays(snapshot: Snapshot, desired: Makers): Step[] {
  return listStrays(snapshot, desired).map(({ schema, role }) => ({
    sql: `REVOKE CREATE ON SCHEMA ${quoteIdentifier(schema)} FROM ${nameRole(role)} CASCADE`,
    why: 'only owners of twins create there',
    as: desired.twinOwner,
  }))
}

/** None about owners of twins of which another one has taken the place. */
export function describeStrays(snapshot: Snapshot, desired: Makers): Note[] {
  const former = new Set(listServing(snapshot).map(({ name }) => name))
  return listStrays(snapshot, desired)
    .filter(({ role }) => !former.has(role))
    .map(({ schema, role }) => createRevoked(schema, nameRole(role)))
}

function listStrays({ shadowSchemas, shadowMakers }: Snapshot, { twinOwner, makers }: Makers) {
  const known = new Set(makers)
  return [...shadowMakers]
    .filter(([schema]) => shadowSchemas.get(schema) === twinOwner)
    .flatMap(([schema, roles]) => roles.filter((role) => !known.has(role)).map((role) => ({ schema, role })))
}

function nameRole(role: string): string {
  return role === everybody ? 'PUBLIC' : quoteIdentifier(role)
}

/**
 * Starts the turn again where a role that was lent CREATE still has it: REVOKE names roles, and a role with CREATEROLE can give
 * the name to another one in between. Names of owners of twins are out of its reach.
 */
export function refuseStrays(schema: string, { makers }: Makers): Step {
  const names = `ARRAY[${makers.map(quoteLiteral).join(', ')}]::text[]`
  const body = `BEGIN IF EXISTS (
      SELECT FROM pg_namespace n, aclexplode(n.nspacl) a WHERE n.nspname = ${quoteLiteral(schema)} AND a.privilege_type = 'CREATE'
        AND a.grantee <> n.nspowner AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.oid = a.grantee AND r.rolname = ANY (${names}))
    ) THEN RAISE 'a role that makes a twin was renamed' USING ERRCODE = '${sqlstate.serializationFailure}'; END IF; END`
  return { sql: `DO ${quoteLiteral(body)}`, why: 'only owners of twins create there' }
}
