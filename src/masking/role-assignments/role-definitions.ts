import type { MaskingRole } from '../../auth/masking-roles.ts'
import { findMaskingRole } from '../../auth/masking-roles.ts'

/** The ids under which the original service knows these roles; tools have them by heart. */
const ids: Readonly<Record<MaskingRole, string>> = {
  Owner: '8e3af657-a8ff-443c-a75c-2fe8c4bcb635',
  Contributor: 'b24988ac-6180-42a0-ab88-20f7382dd24c',
  'SQL Security Manager': '056cd41c-7e88-42e1-933e-88ba6a50c9c3',
  Reader: 'acdd72a7-3385-48ef-bd42-f606fba81ae7',
}

/** By the id alone or at the end of a path, which may be under any scope. */
export function roleOfDefinition(roleDefinitionId: string): MaskingRole | undefined {
  const wanted = roleDefinitionId.toLowerCase().split('/').at(-1)
  return (Object.keys(ids) as MaskingRole[]).find((role) => ids[role] === wanted)
}

export function roleOfName(name: string): MaskingRole | undefined {
  return findMaskingRole(name)
}

export function definitionOf(role: MaskingRole, authorizationNamespace: string): string {
  return `/providers/${authorizationNamespace}/roleDefinitions/${ids[role]}`
}

export const roleNames = Object.keys(ids).join(', ')
