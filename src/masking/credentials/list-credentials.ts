import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { operation, ownApiVersions } from '../operation.ts'
import {
  actions,
  credentialAnswer,
  credentialsPath,
  renderCredential,
  requireGatewayUser,
} from './credential.ts'
import { listStored } from './credential-store.ts'

export const listCredentials = operation({
  name: 'listDatabaseCredentials',
  clause: 'GATE-162',
  summary: 'List the passwords for tools that the caller has; administrators see those of everybody',
  method: 'GET',
  path: credentialsPath,
  apiVersions: ownApiVersions,
  permission: { anyCaller: 'It shows what the caller made, and the rest to callers whose roles allow it.' },
  answers: { 200: Type.Object({ value: Type.Array(credentialAnswer) }) },
  errors: [403],
  async run({ caller, tx, ports }) {
    requireGatewayUser(caller)
    const seesAll = await ports.mayAct(tx, caller, actions.read, '/')
    const found = await listStored(tx, caller.tenantId, seesAll ? null : caller.objectId)
    return ok({ value: found.map(renderCredential) })
  },
})
