import { randomBytes } from 'node:crypto'
import type { Query } from './db/query.ts'
import { findByLoginName, findLoginName } from './directory/principals/find-login-name.ts'
import { confirmPassword } from './issuer/change-password.ts'
import { findWait, takeAttempt } from './issuer/sign-in-throttle.ts'
import type { SecretBox } from './kernel/secret-box.ts'
import { createCredentialCheck } from './masking/credentials/check-login.ts'
import type { MaskingPorts } from './masking/operation.ts'
import { writeVerifier } from './wire/scram.ts'

type Makers = Pick<MaskingPorts, 'confirmPassword' | 'writeVerifier' | 'findLoginName'>

/** Passwords for tools: how operations make them, and how the gateway checks them. */
export function openCredentials(sql: Query, tenantId: string, secrets: SecretBox) {
  const makers: Makers = {
    async confirmPassword(caller, current) {
      await confirmPassword(sql, tenantId, caller, current)
    },
    writeVerifier: (password) => writeVerifier(password, randomBytes(16)),
    findLoginName: findLoginName.bind(null, sql),
  }
  const logins = createCredentialCheck({
    sql,
    tenantId,
    secrets,
    findPrincipal: (name) => findByLoginName(sql, tenantId, name),
    findWait: (credential, address) => findWait(sql, { credential, address }),
    async countFailure(credential, address) {
      await takeAttempt(sql, { credential, address })
    },
  })
  return { makers, logins }
}
