import type { Operation } from '../api/operation.ts'
import type { MaskingPorts } from './operation.ts'

/** The masking API is this list. */
const operations: readonly Operation<MaskingPorts>[] = []

export function maskingRoom(ports: MaskingPorts) {
  return { operations, ports }
}
