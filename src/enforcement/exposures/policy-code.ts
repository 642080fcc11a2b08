import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { kind } from './exposure.ts'
import { listMakers, listSeers } from './seers.ts'

interface ViewRow {
  readonly viewSchema: string
  readonly view: string
  readonly kind: string
  readonly reader: string
  readonly schema: string
  readonly table: string
  readonly owner: string
  readonly hasPolicies: boolean
}

/**
 * A view reads its tables with the rights of its owner, and so do the conditions of their row policies: a subquery in a policy
 * reads what the owner of the view may read, and hands it to any function. Superusers and roles with BYPASSRLS read without policies.
 */
export const policyCode = kind<ViewRow & { roles: readonly string[] }>({
  code: 'PolicyCode',
  severity: 'high',
  async read(scene) {
    const { sql, book, twinOwners } = scene
    const owners = listSeers(scene).filter((name) => {
      const role = book.roles.get(name)
      return role && !role.superuser && !role.bypassRls && !twinOwners.includes(name)
    })
    const rows = await sql<ViewRow[]>`
      select distinct n.nspname::text as "viewSchema", v.relname::text as view, r.rolname::text as reader, m.nspname::text as schema,
        t.relname::text as "table", o.rolname::text as owner, case v.relkind when 'v' then 'view' else 'materialized view' end as kind,
        t.relrowsecurity and exists (select 1 from pg_catalog.pg_policy p where p.polrelid = t.oid) as "hasPolicies"
      from pg_catalog.pg_class v join pg_catalog.pg_roles r on r.oid = v.relowner
      join pg_catalog.pg_namespace n on n.oid = v.relnamespace
      join pg_catalog.pg_rewrite w on w.ev_class = v.oid and w.rulename = '_RETURN'
      join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = w.oid
        and d.refclassid = 'pg_catalog.pg_class'::regclass
      join pg_catalog.pg_class t on t.oid = d.refobjid and t.relkind in ('r', 'p')
      join pg_catalog.pg_namespace m on m.oid = t.relnamespace join pg_catalog.pg_roles o on o.oid = t.relowner
      where v.relkind in ('v', 'm') and r.rolname = any(${owners}::text[]) and o.rolname = any(${book.ofWatched}::text[])
        and t.relowner <> v.relowner and not exists (select 1 from pg_catalog.pg_options_to_table(v.reloptions)
          where option_name = 'security_invoker' and option_value::boolean)
      order by 1, 2, 4, 5`
    return rows.map((row) => ({ ...row, roles: listMakers(scene, row.owner, row.reader) }))
  },
  describe: ({ viewSchema, view, kind, reader, schema, table, owner, hasPolicies }) => {
    const name = quoteQualified(schema, table)
    return {
      severity: hasPolicies ? 'high' : 'medium',
      objects: [
        { kind, name: quoteQualified(viewSchema, view) },
        { kind: 'table', name },
      ],
      explanation: `The ${kind} reads ${name} with the rights of ${quoteIdentifier(reader)}, which lead to raw values. ${quoteIdentifier(owner)} owns the table and can give it a row policy, whose condition then reads raw values with these rights whenever a role reads the ${kind}.`,
      remedy: `ALTER TABLE ${name} OWNER TO ${quoteIdentifier(reader)}`,
    }
  },
})
