import { randomUUID } from 'node:crypto'
import { findMaskingRole, maskingRoles } from '../auth/masking-roles.ts'
import { nearestNames } from '../kernel/nearest-names.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { pathPrefix } from '../kernel/surface.ts'
import {
  type Api,
  apiHelp,
  apiOptions,
  databasePathOf,
  listAll,
  openApi,
  Refused,
  serverPathOf,
} from './api.ts'
import { commandOf, refuseUse, type ValuesOf } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { findPrincipal, nameAll, principalHelp } from './principals.ts'
import { report } from './surroundings.ts'
import { renderTable, showText } from './table.ts'

const options = { ...apiOptions, scope: { type: 'string' } } as const

type Values = ValuesOf<typeof options>

export const role = commandOf({
  name: 'role',
  summary: 'List roles and their holders, and give them to users, groups and applications',
  help: `
Usage: masquerade role list
       masquerade role show ROLE [--scope SCOPE]
       masquerade role assign ROLE PRINCIPAL [--scope SCOPE]
       masquerade role unassign ROLE PRINCIPAL [--scope SCOPE]

ROLE is a role by its name or id. Directory roles, such as 'User Administrator', are about the directory as a whole. Owner,
Contributor, 'SQL Security Manager' and Reader are about masking and take a scope. Directory roles go to users,
applications and groups that were made for roles.
${principalHelp} Assigning a role twice, and taking one that is not held, changes nothing.

  --scope SCOPE    '/' for everything, subscription, subscription/group, subscription/group/server,
                   subscription/group/server/database, or a resource id.
${apiHelp}`,
  options,
  verbs: {
    list: { run: list },
    show: { takes: ['ROLE'], run: show },
    assign: { takes: ['ROLE', 'PRINCIPAL'], run: (values, name, who) => change(values, name, who, true) },
    unassign: { takes: ['ROLE', 'PRINCIPAL'], run: (values, name, who) => change(values, name, who, false) },
  },
})

interface Definition {
  readonly id: string
  readonly displayName: string
  readonly description: string | null
}

interface Assignment {
  readonly id: string
  readonly principalId: string
  readonly scope: string
}

/** A role of either kind: the operations on its assignments, wherever they are kept. */
interface Role {
  readonly name: string
  list(api: Api): Promise<Assignment[]>
  assign(api: Api, principalId: string): Promise<void>
  unassign(api: Api, assignment: Assignment): Promise<void>
}

const management = `${pathPrefix.directory}/roleManagement/directory`
async function list(values: Values): Promise<number> {
  const api = await openApi(values)
  const definitions = await listDefinitions(api)
  const found = [
    ...definitions.map(({ displayName, description }) => ({
      name: displayName,
      of: 'directory',
      description,
    })),
    ...Object.entries(maskingRoles).map(([name, { description }]) => ({ name, of: 'masking', description })),
  ]
  const rows = found.map(({ name, of, description }) => [name, of, showText(description ?? '')])
  report(values, found, renderTable(['name', 'of', 'description'], rows, 'There is no role.'))
  return 0
}

async function show(values: Values, name: string): Promise<number> {
  const api = await openApi(values)
  const wanted = await findRole(api, values, name)
  const assignments = await wanted.list(api)
  const names = await nameAll(
    api,
    assignments.map(({ principalId }) => principalId),
  )
  const found = assignments.map((one) => ({ ...one, principal: names.get(one.principalId) ?? null }))
  const rows = found.map(({ principal, principalId, scope }) => [principal ?? '(gone)', scope, principalId])
  report(values, found, renderTable(['principal', 'scope', 'id'], rows, `No principal holds ${wanted.name}.`))
  return 0
}

async function change(values: Values, name: string, who: string, isAssigned: boolean): Promise<number> {
  const api = await openApi(values)
  const wanted = await findRole(api, values, name)
  const { id, name: called = who } = await findPrincipal(api, who)
  const held = (await wanted.list(api)).find(({ principalId }) => principalId === id)
  const isChanged = (held === undefined) === isAssigned
  if (isChanged && isAssigned) await wanted.assign(api, id)
  else if (isChanged && held) await wanted.unassign(api, held)
  const words = isAssigned
    ? `${called} ${isChanged ? 'holds' : 'held'} ${wanted.name}${isChanged ? ' now' : ' already'}.\n`
    : `${called} ${isChanged ? 'no longer holds' : 'did not hold'} ${wanted.name}.\n`
  report(values, { role: wanted.name, principalId: id, principal: called, changed: isChanged }, words)
  return 0
}

function listDefinitions(api: Api): Promise<Definition[]> {
  return listAll<Definition>(api, `${management}/roleDefinitions?$orderby=displayName`)
}

async function findRole(api: Api, { scope }: Values, name: string): Promise<Role> {
  const ofMasking = findMaskingRole(name)
  if (ofMasking !== undefined) {
    if (scope === undefined)
      return refuseUse('role', `${ofMasking} is held at a scope: say --scope. '/' is everything`)
    return maskingRole(ofMasking, readScope(scope))
  }
  const definitions = await listDefinitions(api)
  const wanted = name.toLowerCase()
  const found = definitions.find(
    ({ id, displayName }) => id === wanted || displayName.toLowerCase() === wanted,
  )
  if (!found) {
    const known = [...definitions.map(({ displayName }) => displayName), ...Object.keys(maskingRoles)]
    const [nearest] = nearestNames(name, known)
    const hint = nearest === undefined ? "'masquerade role list' lists them." : `Did you mean '${nearest}'?`
    throw new OperatorError(`There is no role '${name.slice(0, 200)}'. ${hint}`, {
      exitCode: exitCodes.notFound,
    })
  }
  if (scope !== undefined)
    return refuseUse('role', `${found.displayName} is a directory role and has no scope`)
  return directoryRole(found)
}

function directoryRole({ id: roleDefinitionId, displayName }: Definition): Role {
  const path = `${management}/roleAssignments`
  return {
    name: displayName,
    async list(api) {
      const filter = encodeURIComponent(`roleDefinitionId eq '${roleDefinitionId}'`)
      const found = await listAll<Assignment>(api, `${path}?$filter=${filter}`)
      return found.map(({ id, principalId }) => ({ id, principalId, scope: '/' }))
    },
    async assign(api, principalId) {
      await api.send('POST', path, { principalId, roleDefinitionId, directoryScopeId: '/' })
    },
    async unassign(api, { id }) {
      await api.send('DELETE', `${path}/${encodeURIComponent(id)}`)
    },
  }
}

interface MaskingAssignment {
  readonly name: string
  readonly properties: { readonly roleName: string; readonly principalId: string; readonly scope: string }
}

/** A role of masking. It is held where it was assigned: roles at scopes above count too, and are shown with theirs. */
function maskingRole(roleName: string, scope: string): Role {
  const path = `${scope === '/' ? '' : scope}/providers/Vendor.Authorization/roleAssignments`
  return {
    name: `${roleName} at ${scope}`,
    async list(api) {
      const found = await listAll<MaskingAssignment>(api, path)
      return found
        .filter(({ properties }) => properties.roleName === roleName && isSameScope(properties.scope, scope))
        .map(({ name, properties }) => ({
          id: name,
          principalId: properties.principalId,
          scope: properties.scope,
        }))
    },
    async assign(api, principalId) {
      try {
        await api.send('PUT', `${path}/${randomUUID()}`, { properties: { principalId, roleName } })
      } catch (error) {
        // Assigned by another caller meanwhile.
        if (!(error instanceof Refused && error.status === 409)) throw error
      }
    },
    async unassign(api, { id }) {
      await api.send('DELETE', `${path}/${id}`)
    },
  }
}

function isSameScope(one: string, other: string): boolean {
  const fold = (scope: string) =>
    decodeURIComponent(scope)
      .toLowerCase()
      .replace(/\/providers\/[^/]+\//, '/')
  return fold(one) === fold(other)
}

/** `/`, a resource id, or the names from the subscription down. */
function readScope(text: string): string {
  if (text.startsWith('/')) return text === '/' ? text : text.replace(/\/+$/, '')
  const names = text.split('/')
  if (names.length === 4) return databasePathOf(text, 'role')
  if (names.length === 3) return serverPathOf(names)
  const [subscription = '', resourceGroup] = names.map(encodeURIComponent)
  if (subscription === '' || names.length > 4)
    return refuseUse('role', `'${text.slice(0, 200)}' is not a scope`)
  return `/subscriptions/${subscription}${resourceGroup === undefined ? '' : `/resourceGroups/${resourceGroup}`}`
}
