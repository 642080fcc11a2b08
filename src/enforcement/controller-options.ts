import type { Logger } from 'pino'
import type { Lease } from './lease.ts'
import type { LoginKeys } from './logins/logins.ts'
import type { Source } from './source.ts'
import type { StateStore } from './states/state-store.ts'

export interface ControllerOptions {
  readonly source: Source
  readonly loginKeys: LoginKeys
  readonly states: StateStore
  readonly leaseOf: (databaseId: string) => Lease
  readonly log: Logger
  readonly timing: {
    readonly auditSeconds: number
    /** So long a session may hold a lock against enforcement, or a transaction from before a mask. */
    readonly lockLimitSeconds: number
  }
  onDrift?(databaseId: string, steps: number): void
}
