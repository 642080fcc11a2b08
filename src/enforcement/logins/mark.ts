import { loginMarkPrefix } from '../../db/login-mark.ts'

/** The principal that a login role was made for. */
export interface Owner {
  readonly databaseId: string
  readonly principalId: string
}

export interface Mark extends Owner {
  /** Rights were taken from it, and its sessions have not been ended since. */
  readonly ending: boolean
}

/** Signs a text with a key of the service. */
export type Sign = (text: string) => string

const form = new RegExp(`^${loginMarkPrefix}([0-9a-f-]{36}) ([0-9a-f-]{36}) (\\S+?)( ending)?$`)

/** The beginning of the comments of all login roles of a database, or of those of one principal. */
export function markPrefix(databaseId: string, principalId?: string): string {
  return `${loginMarkPrefix}${databaseId} ${principalId === undefined ? '' : `${principalId} `}`
}

/**
 * The comment that marks a login role as ours. Every role can read comments, and a role that may create roles can write
 * them. So the mark is signed together with the role's OID, and is worth nothing on another role.
 */
export function writeMark({ databaseId, principalId, ending }: Mark, oid: number, sign: Sign): string {
  const signature = sign(signedText({ databaseId, principalId }, oid))
  return `${loginMarkPrefix}${databaseId} ${principalId} ${signature}${ending ? ' ending' : ''}`
}

export function readMark(comment: string | null, oid: number, sign: Sign): Mark | undefined {
  const [, databaseId, principalId, signature, ending] = form.exec(comment ?? '') ?? []
  if (databaseId === undefined || principalId === undefined) return undefined
  if (signature !== sign(signedText({ databaseId, principalId }, oid))) return undefined
  return { databaseId, principalId, ending: ending !== undefined }
}

function signedText({ databaseId, principalId }: Owner, oid: number): string {
  return `login role ${oid} ${databaseId} ${principalId}`
}
