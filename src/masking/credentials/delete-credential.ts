import { noContent } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { operation, ownApiVersions } from '../operation.ts'
import { requireRole } from '../role-assignments/confirm-role.ts'
import {
  actions,
  credentialPath,
  credentialsPath,
  renderCredential,
  requireGatewayUser,
} from './credential.ts'
import { removeStored } from './credential-store.ts'

export const deleteCredential = operation({
  name: 'deleteDatabaseCredential',
  clause: 'GATE-163',
  summary: 'Revoke a password for a tool, and end its sessions',
  method: 'DELETE',
  path: credentialPath,
  apiVersions: ownApiVersions,
  permission: {
    anyCaller: 'Callers revoke their own; those of others need a role, and are not found without.',
  },
  answers: { 204: null },
  errors: [403, 404],
  async run(context) {
    const { caller, params, tx, ports, audit, askAgain } = context
    requireGatewayUser(caller)
    const key = params.credentialName ?? ''
    const { tenantId, objectId } = caller
    const isForAll = isUuid(key) && (await ports.mayAct(tx, caller, actions.delete, '/'))
    const removed = await removeStored(tx, tenantId, isForAll ? null : objectId, key)
    if (!removed) return fail('ResourceNotFound', { id: `${credentialsPath}/${key}` })
    if (removed.principalId !== objectId)
      askAgain(actions.delete, (aside) => requireRole({ ...context, tx: aside }, actions.delete, '/'))
    const before = renderCredential(removed)
    audit({ action: 'Vendor.Sql/databaseCredentials/delete', target: before.id, before })
    return noContent
  },
})
