import type { Operation } from '../../api/operation.ts'
import type { DirectoryPorts } from '../operation.ts'

export const membershipOperations: readonly Operation<DirectoryPorts>[] = []
