import type { LogEntry } from '../../db/change-log.ts'
import { fail } from '../../kernel/problem.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'

/** A place among the objects and members that a page lists. */
export interface Place {
  readonly object: string
  /** Undefined: behind the whole object or, among changes, before its members. */
  readonly member?: string | undefined
}

/** How far a client has come. */
export interface DeltaState {
  readonly options: DeltaOptions
  /** The client has every change up to this one, or began to walk all objects at it. */
  readonly since: LogEntry
  /** The client reads the changes up to this one; undefined: it walks all objects, or is between two rounds. */
  readonly until?: LogEntry
  /** The end of the last page. */
  readonly at?: Partial<Place> & { readonly revision?: number }
}

/** Options of the first request. They hold for all that follow. */
export interface DeltaOptions {
  readonly $select?: string
  readonly $expand?: string
  readonly $filter?: string
  readonly $top?: string
}

const longestToken = 8192

/** Sealed, so that clients can neither read a token nor make one up. */
export function sealToken(secrets: SecretBox, place: string, state: DeltaState): string {
  return secrets.seal(place, JSON.stringify(state)).toString('base64url')
}

/** Refuses a token that the service did not make for this place, or that was changed. */
export function openToken(secrets: SecretBox, place: string, option: string, token: string): DeltaState {
  if (token.length <= longestToken && /^[\w-]+$/.test(token))
    try {
      return JSON.parse(secrets.open(place, Buffer.from(token, 'base64url'))) as DeltaState
    } catch {
      // Not sealed here, or changed since.
    }
  return fail('InvalidQueryOption', { option, reason: 'is not one of ours' })
}
