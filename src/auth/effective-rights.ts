import type { Caller } from './caller.ts'
import { type DirectoryRole, directoryRoleTemplates } from './directory-roles.ts'

/**
 * The relations that give a person a right without a role: the account is their own, they own the object, or they are a
 * member of the group. Or they own the application that the body names, or the installation gives the right to every
 * person.
 */
export type Bond = 'self' | 'owner' | 'member' | 'applicationOwner' | 'everyone'

interface EffectiveRight {
  /** Completes "The signed-in person may not …". */
  readonly deed: string
  readonly roles: readonly DirectoryRole[]
  /** Roles that have the right over unified groups alone. */
  readonly unifiedRoles?: readonly DirectoryRole[]
  readonly bonds: readonly Bond[]
}

const global = 'Global Administrator'
const unifiedRoles: readonly DirectoryRole[] = ['Exchange Administrator', 'SharePoint Administrator']
const groupRoles: readonly DirectoryRole[] = [
  global,
  'User Administrator',
  'Groups Administrator',
  'Privileged Role Administrator',
]
const applicationRoles: readonly DirectoryRole[] = [
  global,
  'Application Administrator',
  'Cloud Application Administrator',
]

/**
 * The writes of the directory API and the persons who may do each. A delegated token writes what its permissions allow
 * and its person may do; application tokens have no person and go by their permissions alone.
 */
export const effectiveRights = {
  createUser: {
    deed: 'create users',
    roles: [global, 'User Administrator', 'Directory Writers'],
    bonds: [],
  },
  updateUser: {
    deed: 'update users',
    roles: [
      global,
      'User Administrator',
      'Directory Writers',
      'Privileged Authentication Administrator',
      'Authentication Administrator',
    ],
    bonds: ['self'],
  },
  resetPassword: {
    deed: 'set passwords of others',
    roles: [
      global,
      'User Administrator',
      'Privileged Authentication Administrator',
      'Authentication Administrator',
      'Password Administrator',
      'Helpdesk Administrator',
    ],
    bonds: [],
  },
  changeOwnPassword: { deed: 'change a password', roles: [], bonds: ['self'] },
  deleteUser: {
    deed: 'delete, restore or purge users',
    roles: [global, 'User Administrator', 'Privileged Authentication Administrator'],
    bonds: [],
  },
  extendUser: {
    deed: 'write open extensions of users',
    roles: [global, 'User Administrator', 'Directory Writers'],
    bonds: ['self'],
  },
  writeMailbox: {
    deed: 'write messages, events, contacts and tasks of others',
    roles: [],
    bonds: ['self'],
  },
  createGroup: {
    deed: 'create groups',
    roles: [...groupRoles, 'Directory Writers'],
    unifiedRoles,
    bonds: ['everyone'],
  },
  updateGroup: {
    deed: 'update the group',
    roles: [...groupRoles, 'Directory Writers'],
    unifiedRoles,
    bonds: ['owner'],
  },
  changeMembers: {
    deed: 'change members of the group',
    roles: [...groupRoles, 'Directory Writers'],
    unifiedRoles,
    bonds: ['owner'],
  },
  changeGroupOwners: {
    deed: 'change owners of the group',
    roles: [...groupRoles, 'Directory Writers'],
    unifiedRoles,
    bonds: ['owner'],
  },
  deleteGroup: {
    deed: 'delete, restore or purge the group',
    roles: groupRoles,
    unifiedRoles,
    bonds: ['owner'],
  },
  writeGroupItems: {
    deed: 'write events, threads and posts of the group',
    roles: groupRoles,
    unifiedRoles,
    bonds: ['owner', 'member'],
  },
  createApplication: {
    deed: 'register applications',
    roles: [...applicationRoles, 'Application Developer'],
    bonds: ['everyone'],
  },
  manageApplication: {
    deed: 'change the application, its secrets or its owners',
    roles: applicationRoles,
    bonds: ['owner'],
  },
  createServicePrincipal: {
    deed: 'create a service principal of the application',
    roles: applicationRoles,
    bonds: ['applicationOwner'],
  },
  manageServicePrincipal: {
    deed: 'change the service principal or its owners',
    roles: applicationRoles,
    bonds: ['owner'],
  },
  defineSchema: {
    deed: 'define schema extensions of the application',
    roles: applicationRoles,
    bonds: ['applicationOwner'],
  },
  grantPermissions: {
    deed: 'grant application permissions',
    roles: [global, 'Privileged Role Administrator'],
    bonds: [],
  },
  assignAppRoles: {
    deed: 'assign roles of the application',
    roles: [...applicationRoles, 'Privileged Role Administrator', 'User Administrator'],
    bonds: ['owner', 'applicationOwner'],
  },
  consentForPeople: {
    deed: 'consent for other people',
    roles: [...applicationRoles, 'Privileged Role Administrator'],
    bonds: [],
  },
  manageRoles: {
    deed: 'change directory roles or the principals that hold them',
    roles: [global, 'Privileged Role Administrator'],
    bonds: [],
  },
  writeContacts: {
    deed: 'write organizational contacts',
    roles: [global, 'User Administrator', 'Directory Writers', 'Exchange Administrator'],
    bonds: [],
  },
  writeDevices: { deed: 'write the device', roles: [global, 'Cloud Device Administrator'], bonds: ['owner'] },
  subscribe: { deed: 'subscribe to changes', roles: [], bonds: ['self'] },
  writeOrganization: {
    deed: 'write the organization',
    roles: [global, 'Billing Administrator'],
    bonds: [],
  },
} as const satisfies Readonly<Record<string, EffectiveRight>>

export type RightName = keyof typeof effectiveRights

/** The right that an operation takes; of several, one admits the request. */
export type Rights = RightName | readonly RightName[]

export function findRight(name: RightName): EffectiveRight {
  return effectiveRights[name]
}

/** True when the signed-in person holds one of the roles. A personal account holds none, whatever its token claims. */
export function holdsAnyRole(caller: Caller, roles: readonly DirectoryRole[]): boolean {
  if (caller.kind !== 'delegated' || caller.personal) return false
  return roles.some((role) => caller.directoryRoles.has(directoryRoleTemplates[role]))
}
