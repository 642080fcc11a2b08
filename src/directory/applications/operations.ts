import type { Operation } from '../../api/operation.ts'
import type { DirectoryPorts } from '../operation.ts'
import { changeOwnPassword } from './change-password.ts'
import { addPassword, removePassword } from './passwords.ts'
import { permissionGrantOperations } from './permission-grants.ts'
import { roleAssignmentOperations } from './role-assignments.ts'

/** What makes an application or a person able to call: secrets, passwords and grants. */
export const credentialOperations: readonly Operation<DirectoryPorts>[] = [
  addPassword,
  removePassword,
  ...roleAssignmentOperations,
  ...permissionGrantOperations,
  changeOwnPassword,
]
