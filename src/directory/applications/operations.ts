import type { Operation } from '../../api/operation.ts'
import type { DirectoryPorts } from '../operation.ts'
import { changeOwnPassword } from './change-password.ts'
import { addPassword, removePassword } from './passwords.ts'
import { permissionGrantOperations } from './permission-grants.ts'

/** Operations on credentials and grants: secrets, passwords and consent. */
export const credentialOperations: readonly Operation<DirectoryPorts>[] = [
  addPassword,
  removePassword,
  ...permissionGrantOperations,
  changeOwnPassword,
]
