import { randomBytes } from 'node:crypto'
import type { Caller } from './auth/caller.ts'
import type { Query } from './db/query.ts'
import { findSecret, holdSecret } from './directory/applications/application-secret.ts'
import { findClientApplication } from './directory/applications/find-client-application.ts'
import { findByLoginName, findLoginName } from './directory/principals/find-login-name.ts'
import { confirmPassword, holdPassword } from './issuer/change-password.ts'
import { fail } from './kernel/problem.ts'
import type { SecretBox } from './kernel/secret-box.ts'
import { createCredentialCheck } from './masking/credentials/check-login.ts'
import type { MaskingPorts } from './masking/operation.ts'
import { writeVerifier } from './wire/scram.ts'

type Makers = Pick<MaskingPorts, 'confirmPassword' | 'writeVerifier' | 'findLoginName'>

/** Passwords for tools: how operations make them, and how the gateway checks them. */
export function openCredentials(sql: Query, tenantId: string, secrets: SecretBox) {
  const makers: Makers = {
    async confirmPassword(caller, current) {
      if (caller.kind === 'application') return confirmSecret(sql, tenantId, caller, current)
      const { passwordHash = '' } = await confirmPassword(sql, tenantId, caller, current)
      return async (tx) => {
        await holdPassword(tx, tenantId, caller.objectId, passwordHash)
        return undefined
      }
    },
    writeVerifier: (password) => writeVerifier(password, randomBytes(16)),
    findLoginName: findLoginName.bind(null, sql),
  }
  const logins = createCredentialCheck({
    sql,
    tenantId,
    secrets,
    findPrincipal: (name) => findByLoginName(sql, tenantId, name),
  })
  return { makers, logins }
}

/** Secrets are 256 random bits: wrong ones need not be counted. */
async function confirmSecret(sql: Query, tenantId: string, { applicationId: appId }: Caller, secret: string) {
  const application = await findClientApplication(sql, tenantId, appId)
  const id = application?.application_id ?? ''
  const keyId = application && (await findSecret(sql, tenantId, id, secret))
  if (keyId === undefined) return fail('WrongSecret', {}, { target: 'currentPassword' })
  return async (tx: Query): Promise<Date> =>
    (await holdSecret(tx, tenantId, id, keyId)) ?? fail('WrongSecret', {}, { target: 'currentPassword' })
}
