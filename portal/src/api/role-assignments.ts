import { queryOptions } from '@tanstack/react-query'
import { get } from './call.ts'
import type { Schema, Selected } from './described.ts'
import { directoryPath, type Listed, objectQuery } from './directory.ts'
import type { VisibleDatabase } from './masking.ts'

export type RoleDefinition = Selected<
  'unifiedRoleDefinition',
  'id' | 'displayName' | 'description',
  'displayName'
>
export type DirectoryAssignment = Selected<
  'unifiedRoleAssignment',
  'id' | 'principalId' | 'roleDefinitionId',
  'principalId' | 'roleDefinitionId'
>
export type MaskingAssignment = Schema<'roleAssignment'>

export const maskingRoles = ['Reader', 'SQL Security Manager', 'Contributor', 'Owner'] as const

export const roleDefinitionsQuery = objectQuery<Listed<RoleDefinition>>(
  directoryPath('/roleManagement/directory/roleDefinitions', { $top: '100', $orderby: 'displayName' }),
)

export function directoryAssignmentsPath(roleId: string): string {
  return directoryPath('/roleManagement/directory/roleAssignments', {
    $top: '100',
    $filter: roleId === '' ? undefined : `roleDefinitionId eq ${roleId}`,
  })
}

/** The assignments that count at a scope, and those below it; `''` is everything. */
export function maskingAssignmentsQuery(scope: string) {
  return queryOptions({
    queryKey: ['role assignments', scope],
    queryFn: async ({ signal }) => {
      const path = `${scope}/providers/Vendor.Authorization/roleAssignments`
      return (await get<{ value: readonly MaskingAssignment[] }>(path, signal)).value
    },
  })
}

/** Every scope that the visible databases lie in, the widest first; `''` is everything. */
export function scopesOf(databases: readonly VisibleDatabase[]): readonly string[] {
  const found = databases.flatMap(({ id }) => {
    const parts = id.split('/')
    return [3, 5, 9, 11].map((length) => parts.slice(0, length).join('/'))
  })
  return ['', ...[...new Set(found)].toSorted()]
}
