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

interface FailingQuery {
  /** Of the masked relation: the materialized view itself, or one that its query reads. */
  readonly oid: number
  readonly name: string
  readonly isMasked: boolean
  readonly roles: readonly string[]
  readonly remedies: readonly string[]
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

/**
 * The query, and expressions of indexes, run as the owner too: PostgreSQL prints a value that a cast or function refuses. Which of them can
 * fail is not known. What an earlier kind lists is left out.
 */
export const failingQuery = kind<FailingQuery>({
  code: 'FailingRow',
  severity: 'medium',
  async read(scene) {
    const { sql, oids, version, byOid } = scene
    if (version < 170000) return []
    const rows = await sql<(RefreshRow & { numbers: readonly number[] | null })[]>`
      select coalesce(d.oid, c.oid)::int8 as oid, d.numbers, c.oid::regclass::text as name, o.rolname::text as owner,
        ${aclEntries(sql, sql`c.relacl`, ['MAINTAIN'])} as acl
      from pg_catalog.pg_class c join pg_catalog.pg_roles o on o.oid = c.relowner left join (
        select w.ev_class, d.refobjid as oid, array_agg(d.refobjsubid)::int4[] as numbers
        from pg_catalog.pg_depend d join pg_catalog.pg_rewrite w on w.oid = d.objid
        where d.classid = 'pg_catalog.pg_rewrite'::regclass and d.refclassid = 'pg_catalog.pg_class'::regclass
          and d.refobjsubid > 0 and d.refobjid = any(${oids}::oid[]) and w.ev_class <> all(${oids}::oid[])
        group by 1, 2
      ) d on d.ev_class = c.oid
      where c.relkind = 'm' and (d.oid is not null or c.oid = any(${oids}::oid[])
        and not exists (select 1 from pg_catalog.pg_index x where x.indrelid = c.oid and x.indisunique)) order by 3, 1`
    const reading = rows.filter(
      ({ oid, numbers }) =>
        numbers === null || byOid.get(oid)?.hidden.some(({ number }) => numbers.includes(number)),
    )
    const first = new Map(reading.toReversed().map((row) => [row.name, row]))
    return [...first.values()].map((row) => ({
      oid: row.oid,
      name: row.name,
      isMasked: row.numbers === null,
      ...findMaintainers(scene, row),
    }))
  },
  describe: ({ relation, name, isMasked, remedies }) => ({
    objects: [...(isMasked ? [] : [{ kind: 'materialized view', name }]), relation],
    explanation: `These roles may refresh the materialized view ${name}, whose query reads masked values as its owner. Where the query or an index casts such a value, or hands it to a function that refuses it, PostgreSQL prints the value in the error: a role that may write a table that the query joins chooses the row.`,
    remedy: joinStatements(remedies),
  }),
})
