import { directoryRoleTemplates } from '../../auth/directory-roles.ts'

export interface RoleTemplate {
  readonly id: string
  readonly displayName: string
  readonly description: string
}

const template = (id: string, displayName: string, description: string): RoleTemplate => ({
  id,
  displayName,
  description,
})

/** The roles that a tenant can activate; their ids are the same in every tenant. */
export const roleTemplates: readonly RoleTemplate[] = [
  template(
    directoryRoleTemplates['Global Administrator'],
    'Global Administrator',
    'Manages every aspect of the directory.',
  ),
  template(
    directoryRoleTemplates['User Administrator'],
    'User Administrator',
    'Manages users and groups, and resets limited passwords.',
  ),
  template(
    directoryRoleTemplates['Directory Writers'],
    'Directory Writers',
    'Reads and writes basic directory information.',
  ),
  template(
    directoryRoleTemplates['Exchange Administrator'],
    'Exchange Administrator',
    'Manages mail and the settings of unified groups.',
  ),
  template(
    directoryRoleTemplates['SharePoint Administrator'],
    'SharePoint Administrator',
    'Manages sites and the settings of unified groups.',
  ),
  template('88d8e3e3-8f55-4a1e-953a-9b9898b8876b', 'Directory Readers', 'Reads basic directory information.'),
  template('f2ef992c-3afb-46b9-b7cf-a126ee74c451', 'Global Reader', 'Reads what a Global Administrator can.'),
  template(
    'fdd7a751-b60b-444a-984c-02652fe8fa1c',
    'Groups Administrator',
    'Manages groups and their settings.',
  ),
  template(
    '729827e3-9c14-49f7-bb1b-9608f156bbb8',
    'Helpdesk Administrator',
    'Resets passwords of those who hold no role.',
  ),
  template(
    '194ae4cb-b126-40b2-bd5b-6091b380977d',
    'Security Administrator',
    'Reads security information and manages security settings.',
  ),
  template(
    '5d6b6bb7-de71-4623-b4af-96380a352509',
    'Security Reader',
    'Reads security information and reports.',
  ),
  template(
    '9b895d92-2cd3-44c7-9d02-a6ac2d5ea5c3',
    'Application Administrator',
    'Manages applications and their service principals.',
  ),
  template(
    'e8611ab8-c189-46e8-94e1-60213ab1f814',
    'Privileged Role Administrator',
    'Manages who holds which directory role.',
  ),
  template('95e79109-95c0-4d8e-aee3-d01accf2d47b', 'Guest Inviter', 'Invites guests.'),
  template('7698a772-787b-4ac8-901f-60d6b08affd2', 'Cloud Device Administrator', 'Manages devices.'),
  template(
    'b0f54661-2d74-4c50-afa3-1ec803f12efe',
    'Billing Administrator',
    'Manages purchases and invoices.',
  ),
]

export function findRoleTemplate(id: string): RoleTemplate | undefined {
  return roleTemplates.find((candidate) => candidate.id === id.toLowerCase())
}
