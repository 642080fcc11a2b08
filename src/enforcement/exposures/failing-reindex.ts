import { aclEntries } from './acl-entries.ts'
import { type AclEntry, kind } from './exposure.ts'
import { findMaintainers } from './maintainers.ts'
import { treeText } from './stored-trees.ts'
import { selectWholeRow } from './whole-rows.ts'

interface IndexRow {
  readonly oid: number
  readonly keys: readonly number[]
  readonly name: string
  readonly owner: string
  /** Of the table and of tables that it is a partition of. */
  readonly acl: readonly AclEntry[]
  /** The owners of the database and of the schema, who may have PostgreSQL build all indexes in it anew. */
  readonly holders: readonly string[]
}

/**
 * CREATE UNIQUE INDEX CONCURRENTLY leaves an index behind that is not valid where it finds a duplicate. REINDEX builds it as the owner of the
 * table, and prints the duplicate key to the role that asked for it.
 */
export const failingReindex = kind<Pick<IndexRow, 'oid' | 'keys' | 'name'> & { roles: readonly string[] }>({
  code: 'FailingRow',
  severity: 'medium',
  async read(scene) {
    const { sql, oids, version, book } = scene
    const rows = await sql<IndexRow[]>`
      select c.oid::int8 as oid, i.oid::regclass::text as name, o.rolname::text as owner,
        array(select k::int4 from unnest(x.indkey::int2[]) k where k > 0
          union select d.refobjsubid from pg_catalog.pg_depend d where d.classid = 'pg_catalog.pg_class'::regclass and d.objid = i.oid
            and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = c.oid and d.refobjsubid > 0
          union ${selectWholeRow(sql, sql`c.oid`, treeText(sql, sql`x.indexprs`))}) as keys,
        array(select r.rolname::text from pg_catalog.pg_roles r where r.oid = n.nspowner
          or r.oid = (select datdba from pg_catalog.pg_database where datname = pg_catalog.current_database())) as holders,
        (with recursive above as (
          select c.oid union select h.inhparent from above a join pg_catalog.pg_inherits h on h.inhrelid = a.oid)
        select coalesce(jsonb_agg(e), '[]') from above a join pg_catalog.pg_class t on t.oid = a.oid
          cross join lateral jsonb_array_elements(${aclEntries(sql, sql`t.relacl`, ['MAINTAIN'])}) e) as acl
      from pg_catalog.pg_index x join pg_catalog.pg_class i on i.oid = x.indexrelid and i.relkind = 'i'
      join pg_catalog.pg_class c on c.oid = x.indrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_roles o on o.oid = c.relowner
      where x.indisunique and not x.indisvalid and c.oid = any(${oids}::oid[]) order by 2`
    return rows.map((row) => {
      const owners = row.holders.flatMap((holder) => book.watchedBehind(holder))
      const maintainers = version < 170000 ? [] : findMaintainers(scene, row).roles
      const roles = [...new Set([...owners, ...maintainers])].sort()
      return {
        oid: row.oid,
        keys: row.keys,
        name: row.name,
        roles: roles.filter((role) => !book.roles.get(role)?.superuser && !book.reaches(role, row.owner)),
      }
    })
  },
  describe: ({ relation, column, name }) => ({
    objects: [relation, { kind: 'index', name }],
    explanation: `The unique index is not valid, as CREATE INDEX CONCURRENTLY leaves it where it finds a duplicate. These roles may run REINDEX, by MAINTAIN or as owners of the schema or database: the error then prints the duplicate key, with the masked column ${column.name}. Drop the index, remove the duplicates, then create it again.`,
    remedy: `DROP INDEX ${name}`,
  }),
})
