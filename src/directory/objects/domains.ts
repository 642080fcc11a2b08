import { type ReadOnlySet, readOperationsOn } from '../entities/read-only-set.ts'
import { namespace } from '../entities/show-entity.ts'
import { isStorableText } from '../entities/storable.ts'
import { fieldsOf } from '../odata/field.ts'
import { objectPermissions } from './object-permissions.ts'

const properties = {
  id: { type: 'string' },
  authenticationType: { type: 'string', default: 'Managed' },
  isAdminManaged: { type: 'boolean', default: true },
  isDefault: { type: 'boolean', default: false },
  isInitial: { type: 'boolean', default: false },
  isRoot: { type: 'boolean', default: true },
  isVerified: { type: 'boolean', default: true },
  supportedServices: { type: 'strings', default: [] },
} as const satisfies ReadOnlySet['properties']

const fields = fieldsOf([{ properties }], { columns: {}, filterAll: true })

/** The domains that the organization has verified; the organization holds them. */
export const domains: ReadOnlySet = {
  kind: 'domain',
  noun: 'Domain',
  properties,
  clause: 'DIR-211',
  one: 'Domain',
  many: 'Domains',
  path: '/domains',
  set: 'domains',
  permission: objectPermissions.organization.read,
  source: (tx, tenantId) => ({
    columns: tx`o.id, 'domain' as kind, o.properties`,
    from: tx`(
      select md5(lower(domain ->> 'name'))::uuid as id,
        domain || jsonb_build_object('id', domain ->> 'name') as properties
      from directory_object organization,
        jsonb_array_elements(coalesce(organization.properties -> 'verifiedDomains', '[]')) domain
      where organization.tenant_id = ${tenantId} and organization.kind = 'organization'
    ) o`,
    where: tx`true`,
    id: 'o.id',
    fields,
    type: `${namespace}.domain`,
  }),
  isKey: (tx, key) =>
    isStorableText(key) ? tx`lower(o.properties ->> 'id') = lower(${key}::text)` : undefined,
}

export const domainOperations = readOperationsOn(domains)
