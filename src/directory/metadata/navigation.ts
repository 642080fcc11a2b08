import { addresses } from '../addresses/addresses.ts'
import { assignmentCollections } from '../app-roles/collections.ts'
import { itemAddresses } from '../items/item-addresses.ts'
import { relations } from '../membership/relations.ts'
import { resources } from '../objects/kinds/resources.ts'

/** A property that leads from entities of one type to entities of another. */
export interface Navigation {
  readonly from: string
  readonly name: string
  readonly to: string
  readonly collection: boolean
  /** The entity set that the entities are of; undefined: they are part of the entity that leads to them. */
  readonly target?: string
}

const base = 'directoryObject'

function fromRelations(): Navigation[] {
  return relations
    .filter(({ path }) => path !== '/me')
    .map(({ from, name, to, single }) => {
      const [only] = to
      const one = to.length === 1 && only ? resources[only] : { kind: base, set: 'directoryObjects' }
      return { from, name, to: one.kind, collection: !single, target: one.set }
    })
}

/** Items lie in mailboxes and groups, or in other items, as their addresses say. */
function fromAddresses(): Navigation[] {
  const all = Object.values(addresses).flatMap(({ kind, paths }) =>
    paths.map((path) => [plain(path), kind] as const),
  )
  const typeAt = new Map<string, string>([...all, ...unaddressed])
  return itemAddresses.flatMap(({ kind, paths }) =>
    paths.map((path) => {
      const place = plain(path)
      const collection = place.endsWith('/:')
      const segments = (collection ? place.slice(0, -2) : place).split('/')
      const name = segments.pop() ?? ''
      const from = typeAt.get(segments.join('/'))
      if (from === undefined) throw new Error(`nothing leads to ${path}`)
      return { from, name, to: kind, collection }
    }),
  )
}

/** Places that lead on and are not served themselves. */
const unaddressed = ['/me', '/users/:'].flatMap((mailbox) => [
  [`${mailbox}/todo`, 'todo'] as const,
  [`${mailbox}/calendarGroup`, 'calendarGroup'] as const,
  [`${mailbox}/calendarGroup/calendars/:`, 'calendar'] as const,
])

function plain(path: string): string {
  return path.replaceAll(/:\w+/g, ':')
}

function fromExtensions(): Navigation[] {
  return Object.values(addresses)
    .filter(({ extensible }) => extensible)
    .map(({ kind }) => ({ from: kind, name: 'extensions', to: 'extension', collection: true }))
}

function fromAssignments(): Navigation[] {
  return assignmentCollections.map(({ holder, path }) => ({
    from: holder,
    name: path.split('/').at(-1) ?? '',
    to: 'appRoleAssignment',
    collection: true,
  }))
}

const others: readonly Navigation[] = [
  { from: 'user', name: 'todo', to: 'todo', collection: false },
  { from: 'user', name: 'calendarGroup', to: 'calendarGroup', collection: false },
  {
    from: 'servicePrincipal',
    name: 'oauth2PermissionGrants',
    to: 'oAuth2PermissionGrant',
    collection: true,
    target: 'oauth2PermissionGrants',
  },
  { from: 'application', name: 'extensionProperties', to: 'extensionProperty', collection: true },
  { from: 'directory', name: 'deletedItems', to: base, collection: true },
  { from: 'roleManagement', name: 'directory', to: 'rbacApplication', collection: false },
  { from: 'rbacApplication', name: 'roleDefinitions', to: 'unifiedRoleDefinition', collection: true },
  { from: 'rbacApplication', name: 'roleAssignments', to: 'unifiedRoleAssignment', collection: true },
  { from: 'auditLogRoot', name: 'directoryAudits', to: 'directoryAudit', collection: true },
  { from: 'auditLogRoot', name: 'signIns', to: 'signIn', collection: true },
]

/** Every way from one entity to others, each once. */
export const navigation: readonly Navigation[] = [
  ...new Map(
    [...fromRelations(), ...fromAddresses(), ...fromExtensions(), ...fromAssignments(), ...others].map(
      (one) => [`${one.from}/${one.name}`, one],
    ),
  ).values(),
]
