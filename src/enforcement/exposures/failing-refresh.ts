import { aclEntries } from './acl-entries.ts'
import { type AclEntry, kind } from './exposure.ts'
import { findMaintainers } from './maintainers.ts'
import { joinStatements } from './role-book.ts'

interface RefreshRow {
  readonly oid: number
  readonly name: string
  readonly owner: string
  readonly acl: readonly AclEntry[]
}

/**
 * REFRESH runs as the owner of a materialized view and prints rows that its unique indexes refuse to the role that asked for it, as the
 * owner may read them. That role has rows doubled by writing a table that the query joins.
 */
export const failingRefresh = kind<
  Pick<RefreshRow, 'oid'> & { roles: readonly string[]; remedies: readonly string[] }
>({
  code: 'FailingRow',
  severity: 'high',
  async read(scene) {
    const { sql, oids, version } = scene
    // Before 17 the owner alone refreshes.
    if (version < 170000) return []
    const rows = await sql<RefreshRow[]>`
      select c.oid::int8 as oid, c.oid::regclass::text as name, o.rolname::text as owner, ${aclEntries(sql, sql`c.relacl`, ['MAINTAIN'])} as acl
      from pg_catalog.pg_class c join pg_catalog.pg_roles o on o.oid = c.relowner
      where c.oid = any(${oids}::oid[]) and c.relkind = 'm'
        and exists (select 1 from pg_catalog.pg_index x where x.indrelid = c.oid and x.indisunique) order by 1`
    return rows.map((row) => ({ oid: row.oid, ...findMaintainers(scene, row) }))
  },
  describe: ({ relation, remedies }) => ({
    objects: [relation],
    explanation:
      'These roles may refresh the materialized view, which has a unique index. PostgreSQL prints the row, or the key, that the index refuses: where a role may write a table that the query joins, it has raw rows doubled and reads them in the error. Dropping the unique index ends it too.',
    remedy: joinStatements(remedies),
  }),
})
