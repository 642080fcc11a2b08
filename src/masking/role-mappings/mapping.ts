import { type Static, Type } from 'typebox'
import type { Params } from '../../auth/permission.ts'
import { readFreeName } from '../free-name.ts'
import type { PrincipalType } from '../operation.ts'
import { asSegment, canonicalNamespace, type DatabasePlace, fold, idOf } from '../place.ts'
import { envelopeInput, nullableString } from '../rules/rule.ts'
import type { Mapping } from './mapping-row.ts'

const strict = { additionalProperties: false }
const optional = Type.Optional(nullableString)

/** Required properties are optional here: that one is missing is said by the mapping's own error. */
export const mappingInput = Type.Object(
  {
    ...envelopeInput,
    properties: Type.Optional(
      Type.Object({ databaseRole: optional, principalId: optional, principalType: optional }, strict),
    ),
  },
  strict,
)
export type MappingInput = NonNullable<Static<typeof mappingInput>['properties']>

export const mappingAnswer = Type.Object({
  id: Type.String(),
  name: Type.String(),
  type: Type.String(),
  properties: Type.Object({
    databaseRole: Type.String(),
    principalId: Type.String(),
    /** Null: the principal is gone, and nobody has the role by this mapping. */
    principalType: nullableString,
  }),
})

export function readMappingName(params: Params): string {
  return readFreeName(params, 'roleMappingName')
}

export function renderMapping(
  { name, databaseRole, principalId }: Pick<Mapping, 'name' | 'databaseRole' | 'principalId'>,
  place: DatabasePlace,
  types: ReadonlyMap<string, PrincipalType>,
  namespace: string,
): Static<typeof mappingAnswer> {
  return {
    id: mappingId(place, name, namespace),
    name,
    type: `${namespace}/servers/databases/roleMappings`,
    properties: { databaseRole, principalId, principalType: types.get(principalId) ?? null },
  }
}

export function mappingId(place: DatabasePlace, name: string, namespace: string): string {
  return `${idOf(place, namespace)}/roleMappings/${asSegment(name)}`
}

/** What the audit log calls the mapping. */
export function mappingTarget(place: DatabasePlace, name: string): string {
  return fold(mappingId(place, name, canonicalNamespace))
}
