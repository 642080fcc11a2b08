import { createHmac, randomBytes } from 'node:crypto'
import { loginMarkPrefix } from '../db/login-mark.ts'
import type { SecretBox } from '../kernel/secret-box.ts'

/** The principal that a login role was made for. */
export interface Owner {
  readonly databaseId: string
  readonly principalId: string
}

export interface Mark extends Owner {
  /** Rights were taken from it, and its sessions have not been ended since. */
  readonly ending: boolean
  /** They have ended at the primary, whose log went so far then; at the other servers of the binding they are to end. */
  readonly left?: string | undefined
  /** An older key of the service signed it. */
  readonly isOld?: true
}

/** Signs a text with a key of the service. */
export type Sign = (text: string) => string

/** Signs it with the keys that are older than that one, and with those that are newer. */
export type SignOtherwise = (text: string) => {
  readonly older: readonly string[]
  readonly newer: readonly string[]
}

/** The end of the mark of a login role whose sessions are to end, followed by where else than at the primary. */
const endingMark = ' ending'

const leftMark = ' at standbys'

const end = `(?:(${endingMark})(?:${leftMark}(?: ([0-9A-F]+/[0-9A-F]+))?)?)?`
const form = new RegExp(`^${loginMarkPrefix}([0-9a-f-]{36}) ([0-9a-f-]{36}) (\\S+?)${end}$`)

/**
 * The comment that marks a login role as ours. Every role can read comments, and a role that may create roles can write
 * them. So the mark is signed together with the role's OID, and is worth nothing on another role.
 */
export function writeMark({ databaseId, principalId, ending, left }: Mark, oid: number, sign: Sign): string {
  const end = ending ? endingMark : left ? `${endingMark}${leftMark} ${left}` : ''
  const signature = sign(signedText({ databaseId, principalId }, oid))
  return `${loginMarkPrefix}${databaseId} ${principalId} ${signature}${end}`
}

export function readMark(
  comment: string | null,
  oid: number,
  { sign, signOtherwise }: { readonly sign: Sign; readonly signOtherwise?: SignOtherwise },
): Mark | undefined {
  const [, databaseId, principalId, signature, ending, left] = form.exec(comment ?? '') ?? []
  if (databaseId === undefined || principalId === undefined) return undefined
  const text = signedText({ databaseId, principalId }, oid)
  const mark = {
    databaseId,
    principalId,
    ending: ending !== undefined && left === undefined,
    left,
  }
  if (signature === undefined) return undefined
  if (signature === sign(text)) return mark
  const others = signOtherwise?.(text)
  if (others?.newer.includes(signature)) return mark
  return others?.older.includes(signature) ? { ...mark, isOld: true } : undefined
}

function signedText({ databaseId, principalId }: Owner, oid: number): string {
  return `login role ${oid} ${databaseId} ${principalId}`
}

/** Both of one key of the service, which another may replace at any time. */
export interface LoginPassword {
  readonly password: string
  /** The SCRAM verifier, which PostgreSQL gets instead of the password. */
  verifier(): string
}

/** Values derived from the key of the service: the same on every node. */
export interface LoginKeys {
  roleName(name: string, database: string): string
  /** `binding`: its version, which is another one for each server that the database was bound to. */
  derive(databaseId: string, principalId: string, binding: string): LoginPassword
  readonly sign: Sign
  /** Signatures by the other keys of the service, while one replaces the other. */
  readonly signOtherwise?: SignOtherwise
}

/**
 * Passwords of login roles, derived and not stored: every node derives the same. A bound server gets a verifier and the
 * proofs that go with it, and could log in with these where both count. So each version of a binding has a password of
 * its own, and each verifier a salt of its own: a store that was restored counts versions again.
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
