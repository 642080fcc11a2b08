import { directoryRoleTemplates } from './directory-roles.ts'
import { knownPermissions } from './known-permissions.ts'

/** Applications of the product itself, the same in every installation. Both act for the person who signs in. */
export const firstPartyApplications = {
  cli: {
    appId: '0d5c3c9a-6a1f-4b0e-9d57-3f7a2c1e8b64',
    displayName: 'Masquerade command line',
    isFallbackPublicClient: true,
    publicClient: { redirectUris: ['http://localhost', 'http://127.0.0.1', 'http://[::1]'] },
  },
  portal: {
    appId: '5b8e0f27-92d4-4c63-8a0b-e14d6f9c7a35',
    displayName: 'Masquerade portal',
    isFallbackPublicClient: false,
    // Where the portal is served depends on the node that serves it: the client directory adds it.
    spa: { redirectUris: [] },
  },
} as const

export function isFirstParty(appId: string): boolean {
  return Object.values(firstPartyApplications).some((application) => application.appId === appId)
}

const everyone = ['User.Read', 'User.ReadBasic.All', 'user_impersonation']

const ofRole: Readonly<Record<string, readonly string[]>> = {
  [directoryRoleTemplates['Global Administrator']]: Object.keys(knownPermissions),
  [directoryRoleTemplates['User Administrator']]: [
    'User.ReadWrite.All',
    'Group.ReadWrite.All',
    'GroupMember.ReadWrite.All',
    'Directory.Read.All',
  ],
  [directoryRoleTemplates['Directory Writers']]: [
    'Directory.Read.All',
    'Group.ReadWrite.All',
    'GroupMember.ReadWrite.All',
    'User.ReadWrite.All',
  ],
}

/**
 * What the product's own applications may do for a person: as much as the person's directory roles say. Nobody
 * granted these one by one; a person without a role reads names and uses their masking roles.
 */
export function firstPartyPermissions(roleTemplateIds: Iterable<string>): string[] {
  const permissions = new Set(everyone)
  for (const role of roleTemplateIds)
    if (Object.hasOwn(ofRole, role)) for (const name of ofRole[role] ?? []) permissions.add(name)
  return [...permissions]
}
