import type { Operation } from '../api/operation.ts'
import type { Dialect } from './dialect.ts'

/** An operation at one of its paths. */
export interface Route {
  readonly operation: Operation
  readonly ports: unknown
  readonly dialect: Dialect
  /** `/me` is the signed-in user, and with an application's token there is none: whatever its permissions. */
  readonly isMe: boolean
}
