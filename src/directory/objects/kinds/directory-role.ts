import { displayName, objectProperties, type Resource } from './resource.ts'

export const directoryRole: Resource = {
  kind: 'directoryRole',
  set: 'directoryRoles',
  noun: 'DirectoryRole',
  restorable: false,
  properties: {
    ...objectProperties,
    description: { type: 'string', write: 'never' },
    displayName: { ...displayName, write: 'never' },
    roleTemplateId: { type: 'guid', required: true, write: 'creation', index: 'key' },
  },
}
