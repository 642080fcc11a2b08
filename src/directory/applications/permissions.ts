import { exactly } from '../permissions.ts'

/** A secret or grant makes its holder as strong as the application: general write permissions do not suffice. */
export const credentialPermissions = {
  write: exactly('Application.ReadWrite.All'),
} as const

export const roleAssignmentPermissions = {
  read: exactly(
    'Application.Read.All, Application.ReadWrite.All, Directory.Read.All, Directory.ReadWrite.All',
  ),
  write: exactly('AppRoleAssignment.ReadWrite.All and Application.Read.All'),
} as const

export const permissionGrantPermissions = {
  read: exactly('DelegatedPermissionGrant.ReadWrite.All, Directory.Read.All, Directory.ReadWrite.All'),
  write: exactly('DelegatedPermissionGrant.ReadWrite.All'),
} as const
