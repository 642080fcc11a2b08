import { createHmac, randomBytes } from 'node:crypto'
import type { SecretBox } from '../../kernel/secret-box.ts'
import type { LoginKeys } from './ports.ts'

/**
 * Passwords of login roles, derived and not stored: every node derives the same. A bound server gets a verifier and the proofs
 * that go with it, and could log in with these where both count. So each version of a binding has a password of its own, and
 * each verifier a salt of its own: a store that was restored counts versions again.
 */
export function createLoginKeys(
  secretBox: SecretBox,
  roleName: LoginKeys['roleName'],
  writeVerifier: (password: string, salt: Buffer) => string,
): LoginKeys {
  const signWith = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest('base64url')
  return {
    roleName,
    derive(databaseId, principalId, binding) {
      const purpose = `login password ${databaseId} ${principalId} of binding ${binding}`
      const password = secretBox.derive(purpose).toString('base64url')
      return { password, verifier: () => writeVerifier(password, randomBytes(16)) }
    },
    sign: (text) => signWith(secretBox.derive('login marks'), text),
    signOtherwise(text) {
      const { older, newer } = secretBox.deriveOthers('login marks')
      const sign = (key: Buffer) => signWith(key, text)
      return { older: older.map(sign), newer: newer.map(sign) }
    },
  }
}
