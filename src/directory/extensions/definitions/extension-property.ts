import { Type } from 'typebox'
import type { Query } from '../../../db/query.ts'
import { fail } from '../../../kernel/problem.ts'
import { isUuid } from '../../../kernel/uuid.ts'
import type { Json } from '../../entities/property.ts'
import { makeFields } from '../../odata/field.ts'
import type { ListSource } from '../../odata/list.ts'
import type { DataType } from '../data-types.ts'

/** A directory extension: a property that an application has defined for some kinds of objects. */
export interface ExtensionProperty {
  readonly id: string
  readonly applicationId: string
  readonly appDisplayName: string | null
  readonly name: string
  readonly dataType: DataType
  readonly targetObjects: readonly string[]
  readonly isMultiValued: boolean
}

export const extensionPropertySchema = Type.Object({
  id: Type.String(),
  appDisplayName: Type.Union([Type.String(), Type.Null()]),
  name: Type.String(),
  dataType: Type.String(),
  isMultiValued: Type.Boolean(),
  isSyncedFromOnPremises: Type.Boolean(),
  targetObjects: Type.Array(Type.String()),
})

const fields = makeFields([
  { name: 'id', sql: 'd.id', type: 'guid', filter: true, sort: false },
  { name: 'name', sql: 'd.name', type: 'text', filter: true, sort: true },
  { name: 'dataType', sql: 'd.data_type', type: 'text', filter: true, sort: false },
])

/** The definitions of an application, or of all that are not deleted; the table's alias is `d`. */
export function extensionPropertiesOf(tx: Query, tenantId: string, applicationId?: string): ListSource {
  return {
    columns: tx`d.id, d.application_id as "applicationId", a.display_name as "appDisplayName", d.name,
      d.data_type as "dataType", d.target_objects as "targetObjects", d.is_multi_valued as "isMultiValued"`,
    from: tx`extension_property d
      join directory_object a on a.tenant_id = d.tenant_id and a.id = d.application_id`,
    where: tx`d.tenant_id = ${tenantId} and a.deleted_at is null
      and ${applicationId === undefined ? tx`true` : tx`d.application_id = ${applicationId}`}`,
    id: 'd.id',
    fields,
    type: 'vendor.graph.extensionProperty',
  }
}

export async function findExtensionProperty(
  tx: Query,
  tenantId: string,
  applicationId: string,
  id: string,
): Promise<ExtensionProperty> {
  if (!isUuid(id)) fail('InvalidObjectIdentifier', { id: id.slice(0, 200) })
  const { columns, from, where } = extensionPropertiesOf(tx, tenantId, applicationId)
  const [definition] = await tx<ExtensionProperty[]>`
    select ${columns} from ${from} where ${where} and d.id = ${id}`
  return definition ?? fail('ObjectNotFound', { id })
}

export function showExtensionProperty(definition: ExtensionProperty): Record<string, Json> {
  const { id, appDisplayName, name, dataType, isMultiValued, targetObjects } = definition
  return {
    id,
    deletedDateTime: null,
    appDisplayName,
    dataType,
    isMultiValued,
    isSyncedFromOnPremises: false,
    name,
    targetObjects,
  }
}

export function extensionPropertiesContext(baseUrl: string, applicationId: string): string {
  return `${baseUrl}/$metadata#applications('${applicationId}')/extensionProperties`
}
