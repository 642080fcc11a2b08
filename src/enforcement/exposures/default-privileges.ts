import { quoteIdentifier } from '../../db/quote.ts'
import { findStrangers, type Given, givenAsJson } from './acl-entries.ts'
import type { Exposure, ExposureClass } from './exposure.ts'

interface Row {
  readonly owner: string
  readonly schema: string | null
  readonly given: readonly Given[]
}

/** A table that is dropped and made again starts with what the default privileges give. */
export const defaultPrivileges: ExposureClass = {
  code: 'DefaultPrivileges',
  async find(scene) {
    const { sql, masked } = scene
    const rows = await sql<Row[]>`
      select o.rolname::text as owner, n.nspname::text as schema, ${givenAsJson(sql, sql`d.defaclacl`, ['SELECT'])} as given
      from pg_catalog.pg_default_acl d join pg_catalog.pg_roles o on o.oid = d.defaclrole
      left join pg_catalog.pg_namespace n on n.oid = d.defaclnamespace
      where d.defaclobjtype = 'r' and (d.defaclnamespace = 0 or exists (select 1 from pg_catalog.pg_class c
        where c.relnamespace = d.defaclnamespace and c.oid = any(${masked.map(({ oid }) => oid)}::oid[])))
      order by 1, 2`
    return rows.flatMap(({ owner, schema, given }): Exposure[] => {
      const strangers = findStrangers(scene, given, owner)
      if (!strangers || masked.length === 0) return []
      const place = schema === null ? '' : ` IN SCHEMA ${quoteIdentifier(schema)}`
      return [
        {
          code: 'DefaultPrivileges',
          severity: 'low',
          objects: [{ kind: 'default privileges', name: `${quoteIdentifier(owner)}${place}` }],
          roles: strangers.roles,
          explanation: `Whatever ${quoteIdentifier(owner)} creates${schema === null ? '' : ` in ${quoteIdentifier(schema)}`} can be read by these roles at once: a masked table that is dropped and made again, or a copy of one, is open until the service looks next.`,
          remedy: `ALTER DEFAULT PRIVILEGES FOR ROLE ${quoteIdentifier(owner)}${place} REVOKE SELECT ON TABLES FROM ${strangers.grantees}`,
          rule: null,
        },
      ]
    })
  },
}
