import { displayName, objectProperties, type Resource } from './resource.ts'

export const directoryRole: Resource = {
  kind: 'directoryRole',
  set: 'directoryRoles',
  noun: 'DirectoryRole',
  restorable: false,
  example: {
    roleTemplateId: 'fe930be7-5e62-47db-91af-98c3a49a38b1',
    displayName: 'User Administrator',
    description: 'Manages users and groups.',
  },
  properties: {
    ...objectProperties,
    description: { type: 'string', write: 'never' },
    displayName: { ...displayName, write: 'never' },
    roleTemplateId: { type: 'guid', required: true, write: 'creation', index: 'key' },
  },
}
