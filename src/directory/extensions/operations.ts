import type { Operation } from '../../api/operation.ts'
import type { DirectoryPorts } from '../operation.ts'

export const extensionsOperations: readonly Operation<DirectoryPorts>[] = []
