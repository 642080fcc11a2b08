import type { Operation } from '../../api/operation.ts'
import type { DirectoryPorts } from '../operation.ts'

export const objectsOperations: readonly Operation<DirectoryPorts>[] = []
