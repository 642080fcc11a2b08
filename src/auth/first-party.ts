import { type DirectoryRole, directoryRoleTemplates } from './directory-roles.ts'
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

const writeGroups = [
  'Directory.Read.All',
  'Group.ReadWrite.All',
  'GroupMember.ReadWrite.All',
  'User.ReadWrite.All',
]
const setPasswords = ['Directory.AccessAsUser.All', 'Directory.Read.All', 'User.ReadWrite.All']
const grantLow = ['Application.ReadWrite.All', 'DelegatedPermissionGrant.ReadWrite.All', 'Directory.Read.All']
const readDirectory = ['Directory.Read.All']
const readLogs = ['AuditLog.Read.All', ...readDirectory]

/** Writes reach no further than the rights of the person: `effective-rights.ts`. */
const ofRole: Partial<Record<DirectoryRole, readonly string[]>> = {
  'Global Administrator': Object.keys(knownPermissions),
  'User Administrator': [...writeGroups, 'Directory.AccessAsUser.All'],
  'Directory Writers': writeGroups,
  'Groups Administrator': writeGroups,
  'Application Administrator': grantLow,
  'Cloud Application Administrator': grantLow,
  'Privileged Role Administrator': [
    ...writeGroups,
    ...grantLow,
    'AppRoleAssignment.ReadWrite.All',
    'RoleManagement.ReadWrite.Directory',
  ],
  'Directory Readers': readDirectory,
  'Global Reader': readLogs,
  'Security Administrator': readLogs,
  'Security Reader': readLogs,
  'Privileged Authentication Administrator': setPasswords,
  'Authentication Administrator': setPasswords,
  'Password Administrator': setPasswords,
  'Helpdesk Administrator': setPasswords,
}

/**
 * The permissions of the product's own applications on behalf of a person: they follow from the person's directory
 * roles, without a grant. A person without a role reads names and uses their masking roles.
 */
export function firstPartyPermissions(roleTemplateIds: Iterable<string>): string[] {
  const held = new Set(roleTemplateIds)
  const permissions = new Set(everyone)
  for (const [role, names] of Object.entries(ofRole))
    if (held.has(directoryRoleTemplates[role as DirectoryRole]))
      for (const name of names ?? []) permissions.add(name)
  return [...permissions]
}
