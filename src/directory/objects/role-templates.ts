import { type DirectoryRole, directoryRoleTemplates } from '../../auth/directory-roles.ts'

export interface RoleTemplate {
  readonly id: string
  readonly displayName: DirectoryRole
  readonly description: string
}

const descriptions: Readonly<Record<DirectoryRole, string>> = {
  'Global Administrator': 'Manages every aspect of the directory.',
  'User Administrator': 'Manages users and groups, and resets limited passwords.',
  'Directory Writers': 'Reads and writes basic directory information.',
  'Exchange Administrator': 'Manages mail and the settings of unified groups.',
  'SharePoint Administrator': 'Manages sites and the settings of unified groups.',
  'Directory Readers': 'Reads basic directory information.',
  'Global Reader': 'Reads what a Global Administrator can.',
  'Groups Administrator': 'Manages groups and their settings.',
  'Helpdesk Administrator': 'Resets passwords of those who hold no role.',
  'Password Administrator': 'Resets passwords of those who hold no role.',
  'Authentication Administrator': 'Manages how people who hold no role sign in.',
  'Privileged Authentication Administrator': 'Manages how people sign in, administrators included.',
  'Security Administrator': 'Reads security information and manages security settings.',
  'Security Reader': 'Reads security information and reports.',
  'Application Administrator': 'Manages applications and their service principals.',
  'Cloud Application Administrator': 'Manages applications and their service principals.',
  'Application Developer': 'Registers applications, also where not everybody may.',
  'Privileged Role Administrator': 'Manages who holds which directory role.',
  'Guest Inviter': 'Invites guests.',
  'Cloud Device Administrator': 'Manages devices.',
  'Billing Administrator': 'Manages purchases and invoices.',
}

/** The roles that a tenant can activate; their ids are the same in every tenant. */
export const roleTemplates: readonly RoleTemplate[] = (Object.keys(descriptions) as DirectoryRole[]).map(
  (displayName) => ({
    id: directoryRoleTemplates[displayName],
    displayName,
    description: descriptions[displayName],
  }),
)

export function findRoleTemplate(id: string): RoleTemplate | undefined {
  return roleTemplates.find((candidate) => candidate.id === id.toLowerCase())
}
