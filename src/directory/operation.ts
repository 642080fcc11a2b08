import { operationsOf } from '../api/operation.ts'
import type { MembershipGraph } from './membership/graph.ts'

/** What the directory room needs from elsewhere; put together in `main.ts`. */
export interface DirectoryPorts {
  readonly graph: MembershipGraph
}

export const operation = operationsOf<DirectoryPorts>('directory')
