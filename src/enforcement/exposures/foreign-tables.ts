import { quoteIdentifier } from '../../db/quote.ts'
import { findStrangers, type Given, givenAsJson } from './acl-entries.ts'
import type { Exposure, ExposureClass } from './exposure.ts'

interface Row {
  readonly server: string
  readonly owner: string
  readonly given: readonly Given[]
  readonly tables: readonly number[]
}

/** The data of a foreign table lies elsewhere: whoever may use its server can make another foreign table for it. */
export const foreignTables: ExposureClass = {
  code: 'ForeignTable',
  async find(scene) {
    const { sql, masked, byOid } = scene
    const rows = await sql<Row[]>`
      select s.srvname::text as server, o.rolname::text as owner,
        ${givenAsJson(sql, sql`s.srvacl`, ['USAGE'])} as given,
        array(select t.ftrelid::int8 from pg_catalog.pg_foreign_table t where t.ftserver = s.oid
          and t.ftrelid = any(${masked.map(({ oid }) => oid)}::oid[])) as tables
      from pg_catalog.pg_foreign_server s join pg_catalog.pg_roles o on o.oid = s.srvowner order by 1`
    return rows.flatMap(({ server, owner, given, tables }): Exposure[] => {
      const relations = tables.flatMap((oid) => byOid.get(oid) ?? [])
      const strangers = relations.length > 0 && findStrangers(scene, given, owner)
      if (!strangers) return []
      return [
        {
          code: 'ForeignTable',
          severity: 'high',
          objects: [
            { kind: 'foreign server', name: quoteIdentifier(server) },
            ...relations.map(({ kind, name }) => ({ kind, name })),
          ],
          roles: strangers.roles,
          explanation: `The masked foreign table is a window to ${quoteIdentifier(server)}. With USAGE on the server these roles can open a window of their own, a foreign table without masks.`,
          remedy: `REVOKE USAGE ON FOREIGN SERVER ${quoteIdentifier(server)} FROM ${strangers.grantees} CASCADE`,
          rule: null,
        },
      ]
    })
  },
}
