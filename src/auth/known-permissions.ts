/** A permission that can be granted, in the words of the consent page. */
interface KnownPermission {
  readonly description: string
  /** Reaches nothing but the person's own data, so the person may consent without an administrator. */
  readonly consentable?: true
}

export const knownPermissions: Readonly<Record<string, KnownPermission>> = {
  'AppRoleAssignment.ReadWrite.All': { description: 'Grant application permissions' },
  'Application.Read.All': { description: 'Read all applications' },
  'Application.ReadWrite.All': { description: 'Read and write all applications and their credentials' },
  'AuditLog.Read.All': { description: 'Read who changed the directory and who signed in' },
  'Calendars.Read': { description: 'Read your calendars', consentable: true },
  'Calendars.ReadWrite': { description: 'Read and write your calendars', consentable: true },
  'Contacts.Read': { description: 'Read your contacts', consentable: true },
  'Contacts.ReadWrite': { description: 'Read and write your contacts', consentable: true },
  'DelegatedPermissionGrant.ReadWrite.All': { description: 'Consent for all people' },
  'Device.Read.All': { description: 'Read all devices' },
  'Device.ReadWrite.All': { description: 'Read and write all devices' },
  'Directory.AccessAsUser.All': { description: 'Access the directory as you' },
  'Directory.Read.All': { description: 'Read the whole directory' },
  'Directory.ReadWrite.All': { description: 'Read and write the whole directory' },
  'Group.Create': { description: 'Create groups' },
  'Group.Read.All': { description: 'Read all groups' },
  'Group.ReadWrite.All': { description: 'Read and write all groups' },
  'GroupMember.Read.All': { description: 'Read who is in which group' },
  'GroupMember.ReadWrite.All': { description: 'Read and change who is in which group' },
  'Mail.Read': { description: 'Read your mail', consentable: true },
  'Mail.ReadBasic': { description: 'Read your mail without its content', consentable: true },
  'Mail.ReadWrite': { description: 'Read and write your mail', consentable: true },
  'Organization.Read.All': { description: 'Read the organization' },
  'Organization.ReadWrite.All': { description: 'Read and write the organization' },
  'OrgContact.Read.All': { description: 'Read organizational contacts' },
  'RoleManagement.Read.Directory': { description: 'Read who holds which directory role' },
  'RoleManagement.ReadWrite.Directory': { description: 'Read and change who holds which directory role' },
  'Tasks.Read': { description: 'Read your tasks', consentable: true },
  'Tasks.Read.All': { description: 'Read the tasks of all people' },
  'Tasks.ReadWrite': { description: 'Read and write your tasks', consentable: true },
  'Tasks.ReadWrite.All': { description: 'Read and write the tasks of all people' },
  'User.Read': { description: 'Sign you in and read your profile', consentable: true },
  'User.Read.All': { description: 'Read the profiles of all people' },
  'User.ReadBasic.All': { description: 'Read the names of all people', consentable: true },
  'User.ReadWrite': { description: 'Read and write your profile', consentable: true },
  'User.ReadWrite.All': { description: 'Read and write the profiles of all people' },
  user_impersonation: { description: 'Manage masking with your roles' },
}

/** Scopes about the sign-in itself; every other one names a permission. */
export const signInScopes = ['openid', 'profile', 'email', 'offline_access'] as const

/** Stands for everything that was granted. */
export const defaultScope = '.default'

export function isKnownPermission(name: string): boolean {
  return Object.hasOwn(knownPermissions, name)
}

export function isConsentable(name: string): boolean {
  return isKnownPermission(name) && knownPermissions[name]?.consentable === true
}
