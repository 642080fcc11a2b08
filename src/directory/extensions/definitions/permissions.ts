import { notSupported, type PermissionRow } from '../../../auth/permission.ts'
import { atLeast } from '../../permissions.ts'

/** Permissions to read and write the definitions of extensions. */
export const definitionPermissions = {
  readProperties: atLeast('Application.Read.All', notSupported, 'Application.Read.All'),
  writeProperties: atLeast('Application.ReadWrite.All', notSupported, 'Application.ReadWrite.All'),
  readAvailable: atLeast('Directory.Read.All', notSupported, 'Directory.Read.All'),
  readSchemas: atLeast('Application.Read.All', notSupported, 'Application.Read.All'),
  writeSchemas: atLeast(
    'Application.ReadWrite.All',
    notSupported,
    'Application.ReadWrite.All and Directory.ReadWrite.All',
  ),
} as const satisfies Record<string, PermissionRow>
