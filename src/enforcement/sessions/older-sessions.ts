import { quoteLiteral } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import { countOf } from '../../kernel/count-of.ts'
import type { Note } from '../plan.ts'
import { type HoldingRole, nameRole } from './holder.ts'

interface OlderSessions extends HoldingRole {
  readonly sessions: number
  readonly hiddenAt: Date
}

/**
 * Notes about masked roles with sessions from before the last mask: such a session may keep rows that it read then, in
 * cursors WITH HOLD or temporary tables, and no catalog tells. They are not ended, as they may be an application's pool.
 */
export async function noteOlderSessions(sql: Sql, schema: string): Promise<Note[]> {
  const roles = await sql<OlderSessions[]>`
    select coalesce(r.rolname::text, a.usesysid::text) as role, r.oid is null as "isDropped", count(distinct a.pid)::int4 as sessions, p.hidden_at as "hiddenAt"
    from ${sql(schema)}.policy p cross join lateral pg_catalog.jsonb_array_elements(p.older) e
    join pg_catalog.pg_stat_activity a on a.pid = (e ->> 'pid')::int4 and a.usesysid = (e ->> 'role')::int8::oid
    left join pg_catalog.pg_roles r on r.oid = a.usesysid
    where a.datname = current_database() and not coalesce(r.rolsuper or r.rolname = current_user or r.rolname = any(p.exempt), false)
      -- What a role could read before it was dropped is not known.
      and not 'public' = any(p.exempt) and (r.oid is null or exists (select 1 from ${sql(schema)}.relation g where case when pg_catalog.jsonb_typeof(g.twin) = 'object' then
        pg_catalog.has_any_column_privilege(r.oid, pg_catalog.to_regclass(
          pg_catalog.format('%I.%I', g.twin ->> 'schema', g.twin ->> 'name')), 'SELECT') end))
    group by 1, 2, 4 order by 1`
  if (roles.length === 0) await sql`update ${sql(schema)}.policy set older = '[]'`
  return roles.map(describeOlder)
}

function describeOlder({ role, isDropped, sessions, hiddenAt }: OlderSessions): Note {
  const began = `backend_start < ${quoteLiteral(hiddenAt.toISOString())}`
  const whose = isDropped ? `usesysid = ${role}` : `usename = ${quoteLiteral(role)}`
  const statement = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND ${whose} AND ${began}`
  return {
    code: 'OpenSession',
    target: role,
    message: `${countOf(sessions, 'session')} of ${nameRole({ role, isDropped })} began before the last mask and may keep raw rows from then, in cursors WITH HOLD or temporary tables. To end them: ${statement}.`,
  }
}
