import { quoteIdentifier, quoteLiteral } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import { countOf } from '../../kernel/count-of.ts'
import type { Note } from '../plan.ts'

interface OlderSessions {
  readonly role: string
  readonly sessions: number
  readonly hiddenAt: Date
}

/**
 * Notes about masked roles with sessions from before the last mask: such a session may keep rows that it read then, in
 * cursors WITH HOLD or temporary tables, and no catalog tells. They are not ended, as they may be an application's pool.
 */
export async function noteOlderSessions(sql: Sql, schema: string): Promise<Note[]> {
  const roles = await sql<OlderSessions[]>`
    select r.rolname::text as role, count(distinct a.pid)::int4 as sessions, p.hidden_at as "hiddenAt"
    from ${sql(schema)}.policy p cross join lateral pg_catalog.jsonb_array_elements(p.older) e
    join pg_catalog.pg_stat_activity a on a.pid = (e ->> 'pid')::int4 and a.usesysid = (e ->> 'role')::int8::oid
    join pg_catalog.pg_roles r on r.oid = a.usesysid
    where a.datname = current_database() and not r.rolsuper and r.rolname <> current_user
      and not (r.rolname = any(p.exempt) or 'public' = any(p.exempt))
      and exists (select 1 from ${sql(schema)}.relation g where case when pg_catalog.jsonb_typeof(g.twin) = 'object' then
        pg_catalog.has_any_column_privilege(r.oid, pg_catalog.to_regclass(
          pg_catalog.format('%I.%I', g.twin ->> 'schema', g.twin ->> 'name')), 'SELECT') end)
    group by 1, 3 order by 1`
  if (roles.length === 0) await sql`update ${sql(schema)}.policy set older = '[]'`
  return roles.map(describeOlder)
}

function describeOlder({ role, sessions, hiddenAt }: OlderSessions): Note {
  const began = `backend_start < ${quoteLiteral(hiddenAt.toISOString())}`
  const statement = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND usename = ${quoteLiteral(role)} AND ${began}`
  return {
    code: 'OpenSession',
    target: role,
    message: `${countOf(sessions, 'session')} of role ${quoteIdentifier(role)} began before the last mask and may keep raw rows from then, in cursors WITH HOLD or temporary tables. To end them: ${statement}.`,
  }
}
