import { operationsOf } from '../api/operation.ts'

/** What the masking room needs from elsewhere; put together in `main.ts`. */
export type MaskingPorts = Readonly<Record<never, never>>

export const operation = operationsOf<MaskingPorts>('masking')
