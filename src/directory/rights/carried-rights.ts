import type { Query } from '../../db/query.ts'
import { foldPrincipalName } from '../../kernel/fold-principal-name.ts'
import { type Access, describeAccess, selectAccess } from './application-access.ts'

type MaskingRight = 'maskingRole' | 'databaseRole' | 'exemption'

/** A right that masking gives to a principal: a role at a scope, a database role, or exemption from masks. */
export interface GivenRight<RightType = MaskingRight> {
  readonly type: RightType
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

/** A right of a user, a service principal or the members of a group, and the group that it comes through. */
export interface CarriedRight {
  /**
   * `groupOwnership`: the principal decides who has the rights of a group. `applicationAccess`: a client that requires assignments
   * admits the principal.
   */
  readonly type: MaskingRight | 'directoryRole' | 'applicationAccess' | 'groupOwnership'
  readonly name: string | null
  readonly scope: string | null
  /** Id of the group; null: the right was given to the principal itself. */
  readonly through: string | null
}

export interface Bearer {
  /** Undefined: the principal is being created, and only its names can give it rights. */
  readonly id: string | undefined
  /** The userPrincipalName or the appId. */
  readonly names: readonly string[]
  /** True for users: the groups that they own count. */
  readonly owns?: boolean
}

interface Options {
  /** Counts deleted groups too, around the object and owned: a caller must not fill a group before its restoration. */
  readonly dormant?: boolean
  /** Counts access to clients by assignment, which people alone have. */
  readonly access?: boolean
}

/**
 * All rights that a principal has, or that the members of a group have by it: given to itself, and to the groups and
 * directory roles around it at any depth. A deleted object shows the rights that its restoration would bring back. A
 * user who owns a group that carries rights has the ownership as a right.
 */
export async function readCarriedRights(
  tx: Query,
  readGiven: ReadGivenRights,
  tenantId: string,
  { id, names, owns = false }: Bearer,
  { dormant = false, access = false }: Options = {},
): Promise<CarriedRight[]> {
  const owned = id && owns ? await listOwnedGroups(tx, tenantId, id, dormant) : []
  const around = id
    ? await walkUp(tx, tenantId, [id, ...owned], { dormant, access, personId: owns ? id : null })
    : []
  const lowerNames = names.map(foldPrincipalName)
  const ids = [...new Set(around.map((step) => step.id))]
  const given = await readGiven(tx, tenantId, { ids, names: lowerNames })
  const own = new Set([...(id ? [id] : []), ...lowerNames])
  const reached = new Set([...around.filter(({ root }) => root === id).map((step) => step.id), ...lowerNames])
  const roles = around.filter(({ root, role }) => root === id && role !== null)
  const carriers = new Set(given.map((right) => right.given))
  const ruled = owned.filter((group) =>
    around.some(
      (step) => step.root === group && (step.role !== null || step.access !== null || carriers.has(step.id)),
    ),
  )
  const admitting = around.filter(({ root }) => root === id)
  return [
    ...roles.map(({ role }) => ({ type: 'directoryRole' as const, name: role, scope: null, through: null })),
    ...given
      .filter((right) => reached.has(right.given))
      .map(({ type, name, scope, given: to }) => ({ type, name, scope, through: own.has(to) ? null : to })),
    ...admitting.flatMap((step) =>
      (step.access ?? []).map((one) => ({
        ...describeAccess(one),
        through: step.id === id ? null : step.id,
      })),
    ),
    ...ruled.map((group) => ({ type: 'groupOwnership' as const, name: null, scope: null, through: group })),
  ]
}

async function listOwnedGroups(
  tx: Query,
  tenantId: string,
  ownerId: string,
  dormant: boolean,
): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    select owned.id from owner_edge edge
    join directory_object owned on owned.tenant_id = edge.tenant_id and owned.id = edge.object_id
    where edge.tenant_id = ${tenantId} and edge.owner_id = ${ownerId} and owned.kind = 'group'
      and (${dormant} or owned.deleted_at is null)
    order by owned.id`
  return rows.map(({ id }) => id)
}

interface Step {
  readonly root: string
  readonly id: string
  /** Name of the directory role; null for a group or a root. */
  readonly role: string | null
  /** The clients that admit its members; null: none, or they do not count. */
  readonly access: readonly Access[] | null
}

/**
 * Each root, and the groups and roles around it. OFFSET 0 keeps the lookups index scans, as in the membership graph. One
 * root is given by itself: the server plans for an array each time anew, which takes longer than the walk.
 */
async function walkUp(
  tx: Query,
  tenantId: string,
  [first, ...more]: readonly string[],
  { dormant, access, personId }: Required<Options> & { readonly personId: string | null },
): Promise<Step[]> {
  // For a person that person's own consents count, for a group those of all people: each may become a member.
  const principal = {
    principalId: tx`walk.id`,
    personId: tx`case when walk.root = ${personId}::uuid then walk.root end`,
  }
  const roots =
    more.length === 0
      ? tx`select ${first}::uuid as root`
      : tx`select root from unnest(${[first, ...more]}::uuid[]) root`
  return await tx<Step[]>`
    with recursive walk (root, id, role) as (
      select root, root, null::text from (${roots}) given
      union
      select walk.root, container.id, container.role from walk
      cross join lateral (
        select container_id from member_edge where tenant_id = ${tenantId} and member_id = walk.id offset 0
      ) edge
      cross join lateral (
        select id, case when kind = 'directoryRole' then display_name end as role from directory_object
        where tenant_id = ${tenantId} and id = edge.container_id and kind in ('group', 'directoryRole')
          and (${dormant} or deleted_at is null)
        offset 0
      ) container
    )
    select root, id, role, ${access ? selectAccess(tx, tenantId, principal, dormant) : tx`null::jsonb`} as access
    from walk order by role, id`
}

/** The rights in words, for a refusal. Databases stay unnamed: a caller without rights must not learn them. */
export function nameRights(rights: readonly CarriedRight[]): string {
  const words = rights.map(({ type, name }) =>
    type === 'maskingRole' || type === 'directoryRole' ? `${kindWords[type]} ${name}` : kindWords[type],
  )
  return [...new Set(words)].join(', ')
}

const kindWords: Readonly<Record<CarriedRight['type'], string>> = {
  directoryRole: 'the directory role',
  maskingRole: 'the masking role',
  databaseRole: 'a database role',
  exemption: 'exemption from masking',
  applicationAccess: 'access to an application',
  groupOwnership: 'ownership of a group that carries rights',
}
