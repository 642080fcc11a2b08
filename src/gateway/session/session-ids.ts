import { createHash } from 'node:crypto'
import type { CancelKey } from '../login/authenticate.ts'

/** The id of a session, made of the key that its client was given to cancel with. */
export function idOf({ processId, secret }: CancelKey): string {
  return `${processId}:${secret.toString('hex')}`
}

/** Names a session to other nodes without the key. */
export function digestId(id: string): string {
  return createHash('sha256').update(id).digest('base64url')
}
