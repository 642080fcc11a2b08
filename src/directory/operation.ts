import { operationsOf } from '../api/operation.ts'
import type { MembershipGraph } from './membership/graph.ts'

/** Functions that the directory needs from other rooms; `main.ts` passes them. */
export interface DirectoryPorts {
  readonly graph: MembershipGraph
  /** Throws unless `current` is the user's password; attempts are counted like sign-ins. */
  changePassword(userId: string, current: string, next: string): Promise<void>
}

export const operation = operationsOf<DirectoryPorts>('directory')
