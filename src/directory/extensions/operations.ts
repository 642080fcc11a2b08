import type { Operation } from '../../api/operation.ts'
import type { DirectoryPorts } from '../operation.ts'
import { createOpenExtension } from './create-open-extension.ts'
import { createExtensionProperty } from './definitions/create-extension-property.ts'
import { createSchemaExtension } from './definitions/create-schema-extension.ts'
import { deleteExtensionProperty } from './definitions/delete-extension-property.ts'
import { deleteSchemaExtension } from './definitions/delete-schema-extension.ts'
import { getAvailableExtensionProperties } from './definitions/get-available-extension-properties.ts'
import { getExtensionProperty } from './definitions/get-extension-property.ts'
import { getSchemaExtension } from './definitions/get-schema-extension.ts'
import { listExtensionProperties } from './definitions/list-extension-properties.ts'
import { listSchemaExtensions } from './definitions/list-schema-extensions.ts'
import { updateSchemaExtension } from './definitions/update-schema-extension.ts'
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
  createExtensionProperty,
  listExtensionProperties,
  getExtensionProperty,
  deleteExtensionProperty,
  getAvailableExtensionProperties,
  createSchemaExtension,
  listSchemaExtensions,
  getSchemaExtension,
  updateSchemaExtension,
  deleteSchemaExtension,
]
