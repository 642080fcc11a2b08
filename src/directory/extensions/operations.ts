import type { Operation } from '../../api/operation.ts'
import type { DirectoryPorts } from '../operation.ts'
import { extensionPropertyOperations } from './definitions/extension-properties.ts'
import { schemaExtensionOperations } from './definitions/schema-extensions.ts'
import { openExtensionOperations } from './open-extensions.ts'

export const extensionsOperations: readonly Operation<DirectoryPorts>[] = [
  ...openExtensionOperations,
  ...extensionPropertyOperations,
  ...schemaExtensionOperations,
]
