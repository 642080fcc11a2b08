import { findStrangers, type Given, givenAsJson } from './acl-entries.ts'
import type { Exposure, ExposureClass } from './exposure.ts'

/** Functions that read beneath the tables. PostgreSQL keeps them for superusers until somebody grants them. */
const beneath = [
  'pg_read_file',
  'pg_read_binary_file',
  'lo_import',
  'get_raw_page',
  'heap_page_items',
  'pg_get_wal_records_info',
  'pg_get_wal_block_info',
]

interface Row {
  readonly signature: string
  readonly owner: string
  readonly given: readonly Given[]
}

export const serverFunctions: ExposureClass = {
  code: 'ServerFunction',
  async find(scene) {
    const { sql } = scene
    const rows = await sql<Row[]>`
      select p.oid::regprocedure::text as signature, o.rolname::text as owner,
        ${givenAsJson(sql, sql`p.proacl`, ['EXECUTE'])} as given
      from pg_catalog.pg_proc p join pg_catalog.pg_roles o on o.oid = p.proowner
      where p.proname = any(${beneath}::name[]) and p.proacl is not null order by 1`
    return rows.flatMap(({ signature, owner, given }): Exposure[] => {
      const strangers = findStrangers(scene, given, owner)
      if (!strangers || scene.masked.length === 0) return []
      return [
        {
          code: 'ServerFunction',
          severity: 'high',
          objects: [{ kind: 'function', name: signature }],
          roles: strangers.roles,
          explanation:
            'It reads files, pages or the write-ahead log of the server, beneath tables and their privileges: raw values are in them.',
          remedy: `REVOKE EXECUTE ON FUNCTION ${signature} FROM ${strangers.grantees} CASCADE`,
          rule: null,
        },
      ]
    })
  },
}
