import type { Query } from '../../db/query.ts'
import { createSqlGraph } from '../membership/sql-graph.ts'

/** A right that masking gives to a principal: a role at a scope, a database role, or exemption from masks. */
export interface GivenRight {
  readonly type: 'maskingRole' | 'databaseRole' | 'exemption'
  /** The role; null for an exemption. */
  readonly name: string | null
  /** The scope of the role, or the database. */
  readonly scope: string
  /** The principal's id, or the entry of an exempt list that names it, in lower case. */
  readonly given: string
}

/** Asks masking what it gives to principals, by their ids and by the names that exempt lists may have for them. */
export type ReadGivenRights = (
  sql: Query,
  tenantId: string,
  principals: { readonly ids: readonly string[]; readonly names: readonly string[] },
) => Promise<readonly GivenRight[]>

/** A right of a user, a service principal or the members of a group, and the group or role that it comes through. */
export interface CarriedRight {
  readonly type: GivenRight['type'] | 'directoryRole'
  readonly name: string | null
  readonly scope: string | null
  /** Id of the group around the principal; null: the right was given to the principal itself. */
  readonly through: string | null
}

export interface Bearer {
  /** Undefined: the principal is being created, and only its names can give it rights. */
  readonly id: string | undefined
  /** The userPrincipalName or the appId. */
  readonly names: readonly string[]
}

/**
 * All rights that a principal has, or that the members of a group have by it: given to itself, and to the groups and
 * directory roles around it at any depth. A deleted object shows the rights that its restoration would bring back.
 */
export async function readCarriedRights(
  tx: Query,
  readGiven: ReadGivenRights,
  tenantId: string,
  { id, names }: Bearer,
): Promise<CarriedRight[]> {
  const around = id ? await createSqlGraph(tx).groupsOf(tenantId, id, { includeRoles: true }) : []
  const ids = id ? [id, ...around] : []
  const roles = await tx<{ name: string }[]>`
    select properties ->> 'displayName' as name from directory_object
    where tenant_id = ${tenantId} and id = any(${ids}::uuid[]) and kind = 'directoryRole' order by 1`
  const lowerNames = names.map((name) => name.toLowerCase())
  const given = await readGiven(tx, tenantId, { ids, names: lowerNames })
  const own = new Set([...(id ? [id] : []), ...lowerNames])
  return [
    ...roles.map(({ name }) => ({ type: 'directoryRole' as const, name, scope: null, through: null })),
    ...given.map(({ type, name, scope, given: to }) => ({
      type,
      name,
      scope,
      through: own.has(to) ? null : to,
    })),
  ]
}

/** The rights in words, for a refusal; names of databases stay out, a caller without rights must not learn them. */
export function nameRights(rights: readonly CarriedRight[]): string {
  const words = rights.map(({ type, name }) =>
    type === 'exemption'
      ? 'exemption from masking'
      : type === 'databaseRole'
        ? 'a database role'
        : type === 'maskingRole'
          ? `the masking role ${name}`
          : `the directory role ${name}`,
  )
  return [...new Set(words)].join(', ')
}
