import type { Operation } from '../../api/operation.ts'
import type { DirectoryPorts } from '../operation.ts'
import { createOpenExtension } from './create-open-extension.ts'
import { deleteOpenExtension } from './delete-open-extension.ts'
import { getOpenExtension } from './get-open-extension.ts'
import { listOpenExtensions } from './list-open-extensions.ts'
import { updateOpenExtension } from './update-open-extension.ts'

export const extensionsOperations: readonly Operation<DirectoryPorts>[] = [
  ...createOpenExtension,
  ...listOpenExtensions,
  ...getOpenExtension,
  ...updateOpenExtension,
  ...deleteOpenExtension,
]
