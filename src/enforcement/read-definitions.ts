import type { Sql } from '../db/sql.ts'
import type { Relation } from './catalog.ts'
import { hashParsed } from './twins/parsed.ts'

/** Larger ones, as stored and compressed, are not asked for. They become SQL of several hundred kilobytes. */
const mostStoredBytes = 262_144

/** The text of a view, and a hash of it as parsed (`Relation.parsed`). */
export interface Definition {
  readonly text: string
  readonly parsed: string | null
}

export async function readDefinitions(tx: Sql, oids: readonly number[]): Promise<Map<number, Definition>> {
  const rows = await tx<(Definition & { oid: number })[]>`
    select w.ev_class::int8 as oid, case when m.is_short then pg_catalog.pg_get_viewdef(w.ev_class) else '' end as text,
      case when m.is_short then ${tx.unsafe(hashParsed('pg_rewrite', 'w'))} end as parsed
    from pg_catalog.pg_rewrite w
    cross join lateral (select pg_catalog.pg_column_size(w.ev_action) <= ${mostStoredBytes} as is_short) m
    where w.ev_class = any(${oids}::oid[]) and w.rulename = '_RETURN'`
  return new Map(rows.map(({ oid, ...definition }) => [oid, definition]))
}

/** Of a stored condition, in bytes: the text of a longer one is beyond the limits of the parser. */
const mostCondition = 32_000_000

/** A condition that is too long to be parsed lets no row through (`deferInCondition`): it is not printed either. */
export async function readRestrictions(
  tx: Sql,
  oids: readonly number[],
): Promise<Map<number, Relation['restrictions']>> {
  const rows = await tx<{ oid: number; restrictions: Relation['restrictions'] }[]>`
    select p.polrelid::int8 as oid, jsonb_agg(jsonb_build_object('roles', p.polroles::int8[],
      'condition', case when m.is_short then pg_catalog.pg_get_expr(p.polqual, p.polrelid) else 'false' end,
      'parsed', case when m.is_short then ${tx.unsafe(hashParsed('pg_policy', 'p'))} end) order by p.polname) as restrictions
    from pg_catalog.pg_policy p
    cross join lateral (select pg_catalog.octet_length(p.polqual::text) <= ${mostCondition} as is_short) m
    where p.polrelid = any(${oids}::oid[]) and ${isRestrictive(tx)} group by 1`
  return new Map(rows.map(({ oid, restrictions }) => [oid, restrictions]))
}

/** A row policy that narrows what certain roles read. */
export const isRestrictive = (tx: Sql) => tx`
  not p.polpermissive and p.polcmd in ('*', 'r') and 0 <> all(p.polroles) and p.polqual is not null`
