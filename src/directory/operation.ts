import { operationsOf } from '../api/operation.ts'

/** What the directory room needs from elsewhere; put together in `main.ts`. */
export type DirectoryPorts = Readonly<Record<never, never>>

export const operation = operationsOf<DirectoryPorts>('directory')
