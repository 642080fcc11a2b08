import { type Static, Type } from 'typebox'
import { type Child, childKind, childTable } from '../children.ts'
import type { DatabaseRow } from '../databases/database-row.ts'
import { apiVersions, type PrincipalType } from '../operation.ts'
import { type DatabasePlace, databasePath, fillPath } from '../place.ts'
import type { Kind, Site } from '../resource.ts'
import { envelopeInput, nullableString, optionalString, strict, uuid } from '../schemas.ts'

/** Grants a database role to a principal, or to every member of a group at any depth. */
export interface MappingProperties {
  readonly databaseRole: string
  readonly principalId: string
}

export interface Mapping extends Child<MappingProperties> {
  readonly place: DatabasePlace
  /** Null: the principal is deleted, and the mapping grants the role to no one. */
  readonly principalType: PrincipalType | null
}

/** Required properties are optional here: that one is missing is said by the mapping's own error. */
export const mappingInput = Type.Object(
  {
    ...envelopeInput,
    properties: Type.Optional(
      Type.Object(
        { databaseRole: optionalString, principalId: optionalString, principalType: optionalString },
        strict,
      ),
    ),
  },
  strict,
)

/** The same with what a mapping must have. */
export const describedMapping = Type.Object(
  {
    ...envelopeInput,
    properties: Type.Object(
      { databaseRole: Type.String(), principalId: uuid, principalType: optionalString },
      strict,
    ),
  },
  {
    ...strict,
    title: 'newRoleMapping',
    examples: [
      { properties: { databaseRole: 'analyst', principalId: '20000000-0000-4000-8000-000000000001' } },
    ],
  },
)
export type MappingInput = NonNullable<Static<typeof mappingInput>['properties']>

export const mappingAnswer = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    type: Type.String(),
    properties: Type.Object({
      databaseRole: Type.String(),
      principalId: uuid,
      principalType: nullableString,
    }),
  },
  { title: 'roleMapping' },
)

const listPath = `${databasePath}/roleMappings`
export const mappingPath = `${listPath}/:roleMappingName`

export function renderMapping(mapping: Mapping, namespace: string): Static<typeof mappingAnswer> {
  const { name, place, databaseRole, principalId, principalType } = mapping
  return {
    id: fillPath(mappingPath, { ...place, roleMappingName: name }, namespace),
    name,
    type: `${namespace}/servers/databases/roleMappings`,
    properties: { databaseRole, principalId, principalType },
  }
}

export const mappingRows = childTable<MappingProperties>({
  table: 'role_mapping',
  fields: ['databaseRole', 'principalId'],
  unique: ['databaseRole', 'principalId'],
})

export const mappingParts = {
  rows: mappingRows,
  parameter: 'roleMappingName',
  async complete(
    { tx, tenantId, ports }: Site,
    { place }: DatabaseRow,
    rows: readonly Child<MappingProperties>[],
  ): Promise<Mapping[]> {
    const types = await ports.principals.find(tx, tenantId, [
      ...new Set(rows.map(({ principalId }) => principalId)),
    ])
    return rows.map((row) => ({ ...row, place, principalType: types.get(row.principalId) ?? null }))
  },
}

export const mappingKind: Kind<Mapping, DatabaseRow | null> = {
  ...childKind<MappingProperties, Mapping>(mappingParts),
  noun: 'RoleMapping',
  plural: 'RoleMappings',
  clause: 'GATE-21',
  summary: {
    get: 'Get one role mapping',
    list: 'List the role mappings of a database',
    delete: 'Delete one role mapping; 204 when there was none',
  },
  action: 'Vendor.Sql/servers/databases/roleMappings',
  apiVersions,
  path: mappingPath,
  listPath,
  answer: mappingAnswer,
  render: renderMapping,
}
