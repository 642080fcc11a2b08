import type { Operation } from '../../api/operation.ts'
import type { DirectoryPorts } from '../operation.ts'
import { changeOwnPassword } from './change-password.ts'
import { addPassword, removePassword } from './passwords.ts'
import { permissionGrantOperations } from './permission-grants.ts'
import { roleAssignmentOperations } from './role-assignments.ts'

/** Operations on credentials and grants: secrets, passwords, application permissions and consent. */
export const credentialOperations: readonly Operation<DirectoryPorts>[] = [
  addPassword,
  removePassword,
  ...roleAssignmentOperations,
  ...permissionGrantOperations,
  changeOwnPassword,
]
