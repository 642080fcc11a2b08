import { notSupported, type PermissionRow } from '../../auth/permission.ts'

const row = (cell: string): PermissionRow => ({
  delegated: cell,
  personal: notSupported,
  application: cell,
  leastPrivileged: false,
})

/** A secret or grant makes its holder as strong as the application: general write permissions do not suffice. */
export const credentialPermissions = {
  write: row('Application.ReadWrite.All'),
} as const

export const roleAssignmentPermissions = {
  read: row('Application.Read.All, Application.ReadWrite.All, Directory.Read.All, Directory.ReadWrite.All'),
  write: row('AppRoleAssignment.ReadWrite.All and Application.Read.All'),
} as const

export const permissionGrantPermissions = {
  read: row('DelegatedPermissionGrant.ReadWrite.All, Directory.Read.All, Directory.ReadWrite.All'),
  write: row('DelegatedPermissionGrant.ReadWrite.All'),
} as const
