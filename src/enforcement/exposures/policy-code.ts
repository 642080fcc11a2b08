import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { kind } from './exposure.ts'
import { listMakers, listSeers } from './seers.ts'

interface ReadRow {
  readonly viaSchema: string
  readonly via: string
  readonly kind: string
  /** Null: the query of a view. */
  readonly rule: string | null
  readonly reader: string
  readonly schema: string
  readonly table: string
  readonly owner: string
  /** False: a row policy of another table reads it. */
  readonly isDirect: boolean
  readonly hasPolicies: boolean
}

/**
 * A view or rule reads and writes its tables with the rights of its owner, and so do the conditions of their row policies: a subquery in
 * a policy reads what that owner may read, and hands it to any function. The tables of that subquery have policies too, which count with
 * the same rights. Policies of masked roles are not followed: their tables are found already. Superusers and roles with BYPASSRLS read
 * without policies, and owners too where these are not forced.
 */
export const policyCode = kind<ReadRow & { roles: readonly string[] }>({
  code: 'PolicyCode',
  severity: 'high',
  async read(scene) {
    const { sql, book, twinOwners } = scene
    const owners = listSeers(scene).filter((name) => {
      const role = book.roles.get(name)
      return role && !role.superuser && !role.bypassRls && !twinOwners.includes(name)
    })
    // A view with security_invoker reads as the session. Its other rules do not.
    const rows = await sql<ReadRow[]>`
      with recursive read as (
        select w.oid as rule, v.relowner as reader, d.refobjid as oid, true as direct
        from pg_catalog.pg_class v join pg_catalog.pg_roles r on r.oid = v.relowner and r.rolname = any(${owners}::text[])
        join pg_catalog.pg_rewrite w on w.ev_class = v.oid and w.ev_enabled <> 'D'
        join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = w.oid
          and d.refclassid = 'pg_catalog.pg_class'::regclass
        where w.ev_type <> '1' or not exists (select 1 from pg_catalog.pg_options_to_table(v.reloptions)
          where option_name = 'security_invoker' and option_value::boolean)
        union
        select read.rule, read.reader, d.refobjid, false
        from read join pg_catalog.pg_class t on t.oid = read.oid and t.relrowsecurity
          and (t.relforcerowsecurity or not pg_catalog.pg_has_role(read.reader, t.relowner, 'USAGE'))
        join pg_catalog.pg_roles o on o.oid = t.relowner and o.rolname <> all(${book.ofWatched}::text[])
        join pg_catalog.pg_policy p on p.polrelid = t.oid
        join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_policy'::regclass and d.objid = p.oid
          and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> t.oid
      )
      select n.nspname::text as "viaSchema", v.relname::text as via, r.rolname::text as reader, m.nspname::text as schema,
        t.relname::text as "table", o.rolname::text as owner,
        case v.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table' end as kind,
        case when w.ev_type <> '1' then w.rulename::text end as rule, bool_or(read.direct) as "isDirect",
        t.relrowsecurity and exists (select 1 from pg_catalog.pg_policy p where p.polrelid = t.oid) as "hasPolicies"
      from read join pg_catalog.pg_rewrite w on w.oid = read.rule join pg_catalog.pg_class v on v.oid = w.ev_class
      join pg_catalog.pg_namespace n on n.oid = v.relnamespace join pg_catalog.pg_roles r on r.oid = v.relowner
      join pg_catalog.pg_class t on t.oid = read.oid and t.relkind in ('r', 'p') and t.relowner <> v.relowner
      join pg_catalog.pg_namespace m on m.oid = t.relnamespace
      join pg_catalog.pg_roles o on o.oid = t.relowner and o.rolname = any(${book.ofWatched}::text[])
      group by v.oid, n.oid, r.rolname, w.oid, w.rulename, w.ev_type, t.oid, m.oid, o.rolname, n.nspname, v.relname, v.relkind,
        m.nspname, t.relname, t.relrowsecurity
      order by 1, 2, 8 nulls first, 4, 5`
    return rows.map((row) => ({ ...row, roles: listMakers(scene, row.owner, row.reader) }))
  },
  describe: ({ viaSchema, via, kind, rule, reader, schema, table, owner, isDirect, hasPolicies }) => {
    const name = quoteQualified(schema, table)
    const subject = rule === null ? `The ${kind} reads` : `The rule of the ${kind} reads or writes`
    const through = isDirect ? '' : ', by row policies of other tables,'
    const use = rule === null ? `reads the ${kind}` : `writes the ${kind}`
    return {
      severity: hasPolicies ? 'high' : 'medium',
      objects: [
        ...(rule === null ? [] : [{ kind: 'rule', name: quoteIdentifier(rule) }]),
        { kind, name: quoteQualified(viaSchema, via) },
        { kind: 'table', name },
      ],
      explanation: `${subject}${through} ${name} with the rights of ${quoteIdentifier(reader)}, which lead to raw values. ${quoteIdentifier(owner)} owns the table and can give it a row policy, whose condition then reads raw values with these rights whenever a role ${use}.`,
      remedy: `ALTER TABLE ${name} OWNER TO ${quoteIdentifier(reader)}`,
    }
  },
})
