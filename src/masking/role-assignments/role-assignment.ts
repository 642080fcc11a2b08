import { type Static, Type } from 'typebox'
import { lockAdministrators } from '../../auth/administrators-lock.ts'
import type { MaskingRole } from '../../auth/masking-roles.ts'
import type { Params } from '../../auth/permission.ts'
import { isWithin, normalizeScope } from '../../auth/role-assignments.ts'
import type { Fragment, Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { providerOf } from '../namespace.ts'
import { authorizationApiVersions, type PrincipalType } from '../operation.ts'
import { canonicalNamespace, checkName, databasePath, scopeOf, serverPath } from '../place.ts'
import type { Kind, Site } from '../resource.ts'
import { dateTime, nullableString, uuid } from '../schemas.ts'
import { lockAssignments } from './confirm-role.ts'

/** Everything a role can be assigned at. */
export const assignableScopes = [
  '',
  '/subscriptions/:subscriptionId',
  '/subscriptions/:subscriptionId/resourceGroups/:resourceGroupName',
  serverPath,
  databasePath,
]
const listPath = assignableScopes.map((scope) => `${scope}/providers/Vendor.Authorization/roleAssignments`)
const parameter = 'roleAssignmentName'

export interface RoleAssignment {
  readonly id: string
  readonly scope: string
  readonly shownScope: string
  readonly role: MaskingRole
  readonly principalId: string
  readonly createdAt: Date
  readonly createdBy: string | null
  readonly principalType: PrincipalType | null
}
type Stored = Omit<RoleAssignment, 'principalType'>

const roleAssignmentAnswer = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    type: Type.String(),
    properties: Type.Object({
      roleDefinitionId: Type.String(),
      roleName: Type.String(),
      principalId: uuid,
      principalType: nullableString,
      scope: Type.String(),
      createdOn: dateTime,
      createdBy: nullableString,
    }),
  },
  { title: 'roleAssignment' },
)

/** The ids under which the original service knows these roles; tools have them by heart. */
export const roleDefinitions: Readonly<Record<MaskingRole, string>> = {
  Owner: '8e3af657-a8ff-443c-a75c-2fe8c4bcb635',
  Contributor: 'b24988ac-6180-42a0-ab88-20f7382dd24c',
  'SQL Security Manager': '056cd41c-7e88-42e1-933e-88ba6a50c9c3',
  Reader: 'acdd72a7-3385-48ef-bd42-f606fba81ae7',
}

/** The scope of the path. Its names are checked, so that no scope reads like another. */
export function readScope(params: Params): { scope: string; shownScope: string } {
  const { [parameter]: _, ...place } = params
  for (const name of Object.keys(place)) checkName(place, name)
  const shownScope = scopeOf(place)
  return { scope: normalizeScope(shownScope), shownScope }
}

export function readRoleAssignmentName(params: Params): string {
  const name = params[parameter] ?? ''
  if (!isUuid(name))
    fail('InvalidResourceName', { parameter, reason: 'it must be a UUID' }, { target: parameter })
  return name.toLowerCase()
}

const columns = (tx: Query) => tx`
  id, scope, shown_scope as "shownScope", role, principal_id as "principalId", created_at as "createdAt",
  created_by as "createdBy"`

/** By its id alone: an id is given once, at whatever scope. */
export async function findRoleAssignment(site: Site): Promise<RoleAssignment | null> {
  const { tx, tenantId, params } = site
  const rows = await tx<Stored[]>`
    select ${columns(tx)} from role_assignment
    where tenant_id = ${tenantId} and id = ${readRoleAssignmentName(params)}`
  return (await withTypes(site, rows))[0] ?? null
}

/** The assignments that a condition selects, in the order of their scopes. */
export async function selectAssignments(tx: Query, tenantId: string, condition: Fragment): Promise<Stored[]> {
  return await tx<Stored[]>`
    select ${columns(tx)} from role_assignment where tenant_id = ${tenantId} and ${condition}
    order by scope collate "C", role, created_at, id`
}

export async function withTypes(
  { tx, tenantId, ports }: Site,
  rows: readonly Stored[],
): Promise<RoleAssignment[]> {
  const types = await ports.principals.find(tx, tenantId, [
    ...new Set(rows.map(({ principalId }) => principalId)),
  ])
  return rows.map((row) => ({ ...row, principalType: types.get(row.principalId) ?? null }))
}

export const roleAssignmentKind: Kind<RoleAssignment, string> = {
  noun: 'RoleAssignment',
  plural: 'RoleAssignments',
  clause: 'MASK-87',
  summary: {
    get: 'Get one role assignment',
    list: 'List the role assignments that count at a scope, and those below it',
    delete: 'Delete a role assignment; 204 when there was none',
  },
  action: 'Vendor.Authorization/roleAssignments',
  apiVersions: authorizationApiVersions,
  path: listPath.map((path) => `${path}/:${parameter}`),
  listPath,
  listQuery: Type.Object({ $filter: Type.Optional(Type.String()) }),
  answer: roleAssignmentAnswer,
  showsDeleted: true,

  async findParent(site) {
    return readScope(site.params).scope
  },
  async find(site, scope, isChange) {
    // MASK-255: a second DELETE reads behind the first. A lock of the row would deadlock with the deletion of a server, which has
    // this lock when it deletes such rows.
    if (isChange) await lockAssignments(site.tx)
    const assignment = await findRoleAssignment(site)
    return assignment?.scope === scope ? assignment : null
  },
  async list(site, scope, { filter }) {
    const isWanted = await readFilter(site, filter, scope)
    const all = await selectAssignments(site.tx, site.tenantId, site.tx`true`)
    const isNear = (assigned: string) => isWithin(scope, assigned) || isWithin(assigned, scope)
    return withTypes(
      site,
      all.filter((assignment) => isNear(assignment.scope) && isWanted(assignment)),
    )
  },
  render: renderRoleAssignment,
  async remove(site, { id, scope }) {
    const { tx, tenantId } = site
    if (scope === '/') await keepOneOwner(site, id)
    const removed = await tx`delete from role_assignment where tenant_id = ${tenantId} and id = ${id}`
    if (removed.count === 0)
      fail('Conflict', {
        reason: 'The principal of the role assignment was deleted meanwhile. Send the request again.',
      })
  },
}

type IsWanted = (assignment: Stored) => boolean

/** The filters of the original: at the scope and above, of a principal, or of a principal and all of its groups. */
async function readFilter(site: Site, filter: string | undefined, scope: string): Promise<IsWanted> {
  const wanted = (filter?.split(/\s+and\s+/i) ?? []).map((part) => readCondition(site, part.trim(), scope))
  const tests = await Promise.all(wanted)
  return (assignment) => tests.every((test) => test(assignment))
}

const idCondition = /^(?:principalId\s+eq\s+|(assignedTo)\()'([0-9a-f-]{36})'(\)?)$/i

async function readCondition(site: Site, condition: string, scope: string): Promise<IsWanted> {
  if (/^atScope\(\)$/i.test(condition)) return (assignment) => isWithin(scope, assignment.scope)
  const [found, isAssigned, id = '', close] = idCondition.exec(condition) ?? []
  if (!found || (isAssigned === undefined) !== (close === ''))
    return fail('InvalidQueryOption', {
      option: '$filter',
      reason: "must be made of atScope(), principalId eq '{id}' and assignedTo('{id}')",
    })
  const principalId = id.toLowerCase()
  const ids = new Set([principalId, ...(isAssigned ? await readGroups(site, principalId) : [])])
  return (assignment) => ids.has(assignment.principalId)
}

/** The groups of a principal are the directory's to tell: to the principal, and to callers who may read groups there. */
async function readGroups({ caller, tenantId, ports }: Site, id: string): Promise<readonly string[]> {
  if (caller.objectId !== id && !ports.principals.mayRead(caller, 'Group')) fail('InsufficientPrivileges')
  return isUuid(id) ? ports.principals.groupsOf(tenantId, id) : []
}

/** MASK-125: of transactions that take Owners away, here or in the directory, each sees what the one before did. */
async function keepOneOwner({ tx, tenantId, ports }: Site, id: string): Promise<void> {
  await lockAdministrators(tx)
  const owners = await tx<{ id: string; principalId: string }[]>`
    select id, principal_id as "principalId" from role_assignment
    where tenant_id = ${tenantId} and scope = '/' and role = 'Owner'`
  if (!owners.some((owner) => owner.id === id)) return
  const others = owners.filter((owner) => owner.id !== id).map(({ principalId }) => principalId)
  if (await ports.principals.hasEnabled(tx, tenantId, others)) return
  fail('Conflict', { reason: "The last Owner at '/' cannot be removed. Make another one first." })
}

export function renderRoleAssignment(
  assignment: RoleAssignment,
  namespace: string,
): Static<typeof roleAssignmentAnswer> {
  const { id, role, principalId, principalType, createdAt, createdBy } = assignment
  const authorization = providerOf(namespace, 'Authorization')
  const scope = assignment.shownScope.replace(`/providers/${canonicalNamespace}/`, `/providers/${namespace}/`)
  return {
    id: `${scope === '/' ? '' : scope}/providers/${authorization}/roleAssignments/${id}`,
    name: id,
    type: `${authorization}/roleAssignments`,
    properties: {
      roleDefinitionId: `/providers/${authorization}/roleDefinitions/${roleDefinitions[role]}`,
      roleName: role,
      principalId,
      principalType,
      scope,
      createdOn: createdAt.toISOString(),
      createdBy,
    },
  }
}
