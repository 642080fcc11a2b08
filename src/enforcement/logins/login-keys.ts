import { createHmac } from 'node:crypto'
import type { SecretBox } from '../../kernel/secret-box.ts'
import type { LoginKeys } from './ports.ts'

/** Passwords of login roles, derived and not stored: every node derives the same. */
export function createLoginKeys(
  secretBox: SecretBox,
  roleName: LoginKeys['roleName'],
  writeVerifier: (password: string, salt: Buffer) => string,
): LoginKeys {
  const signWith = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest('base64url')
  return {
    roleName,
    derive(databaseId, principalId) {
      const password = secretBox.derive(`login password ${databaseId} ${principalId}`).toString('base64url')
      const salt = secretBox.derive(`login salt ${databaseId} ${principalId}`).subarray(0, 16)
      return { password, verifier: () => writeVerifier(password, salt) }
    },
    sign: (text) => signWith(secretBox.derive('login marks'), text),
    signOtherwise(text) {
      const { older, newer } = secretBox.deriveOthers('login marks')
      const sign = (key: Buffer) => signWith(key, text)
      return { older: older.map(sign), newer: newer.map(sign) }
    },
  }
}
