import { kind } from './exposure.ts'

interface StatisticsRow {
  readonly oid: number
  readonly keys: readonly number[]
  readonly name: string
  readonly roles: readonly string[]
}

/**
 * PostgreSQL plans a statement before it looks at privileges, and takes the most common combinations of columns into account for every role.
 * Every session can have plans printed to itself, and sees by pg_prepared_statements which plan was chosen.
 */
export const linkedStatistics = kind<StatisticsRow>({
  code: 'LinkedStatistics',
  severity: 'high',
  read: ({ sql, oids, book }) => {
    const watched = book.watched.filter((role) => !book.roles.get(role)?.superuser)
    return sql<StatisticsRow[]>`
      select c.oid::int8 as oid, k.numbers as keys, pg_catalog.format('%I.%I', n.nspname, s.stxname) as name,
        array(select r.rolname::text from pg_catalog.pg_roles r where r.rolname = any(${watched})
          and not pg_catalog.pg_has_role(r.oid, c.relowner, 'MEMBER') and pg_catalog.has_schema_privilege(r.oid, c.relnamespace, 'USAGE')
          order by 1) as roles
      from pg_catalog.pg_statistic_ext s join pg_catalog.pg_namespace n on n.oid = s.stxnamespace
      join pg_catalog.pg_class c on c.oid = s.stxrelid
      cross join lateral (select array_agg(distinct d.refobjsubid)::int4[] as numbers from pg_catalog.pg_depend d
        where d.classid = 'pg_catalog.pg_statistic_ext'::regclass and d.objid = s.oid and d.refclassid = 'pg_catalog.pg_class'::regclass
          and d.refobjid = s.stxrelid and d.refobjsubid > 0) k
      where s.stxrelid = any(${oids}::oid[]) and 'm' = any(s.stxkind) order by 1, 3`
  },
  describe: ({ relation, column, name }) => ({
    objects: [{ kind: 'statistics', name }, relation],
    explanation: `PostgreSQL keeps the most common combinations of ${column.name} with other columns, and estimates by them for every role that can name the table, before it looks at privileges. A role that guesses a value learns by the plans of its own statements whether a row has it.`,
    remedy: `DROP STATISTICS ${name}`,
  }),
})
