import type { Sql } from '../../db/sql.ts'
import type { Policy } from '../policy.ts'

const mostNames = 20

/** The columns of rules that some masked role can still read raw, for a state in which a privilege is missing. */
export async function describeReadable(sql: Sql, { rules, exemptRoles }: Policy): Promise<string> {
  const rows = await sql<{ name: string }[]>`
    select format('%I.%I.%I', n.nspname, c.relname, a.attname) as name
    from unnest(${rules.map(({ schema }) => schema)}::text[], ${rules.map(({ table }) => table)}::text[],
      ${rules.map(({ column }) => column)}::text[]) as t(s, r, k)
    join pg_catalog.pg_namespace n on n.nspname = t.s
    join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = t.r
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = t.k and not a.attisdropped
    where exists (select 1 from pg_catalog.pg_roles r where r.rolcanlogin and not r.rolsuper and r.rolname <> current_user
      and has_column_privilege(r.oid, c.oid, a.attnum, 'SELECT') and has_schema_privilege(r.oid, n.oid, 'USAGE')
      and not pg_has_role(r.oid, c.relowner, 'MEMBER') and not exists (
        select 1 from pg_catalog.pg_roles e where e.rolname = any(${exemptRoles}::text[]) and pg_has_role(r.oid, e.oid, 'MEMBER')))
    order by 1 limit ${mostNames + 1}`
  const names = rows.slice(0, mostNames).map(({ name }) => name)
  if (names.length === 0)
    return rules.length === 0 ? '' : 'Until then masked roles cannot read the masked columns.'
  const more = rows.length > mostNames ? ' and more' : ''
  return `Until then masked roles read these columns as before: ${names.join(', ')}${more}.`
}
