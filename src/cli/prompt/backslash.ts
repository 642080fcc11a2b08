import pg from 'pg'

/** What a backslash command wants done. */
export type Wish =
  | { readonly kind: 'quit' | 'reset' | 'expand' | 'help' }
  | { readonly kind: 'stopOnError'; readonly isOn: boolean }
  | { readonly kind: 'run'; readonly text: string }
  | { readonly kind: 'unknown'; readonly name: string }

export const backslashHelp = `
  ;            at the end of a statement runs it, which may have several lines
  \\d           lists tables, views and sequences
  \\d NAME      describes one
  \\x           turns the expanded display on and off
  \\r           forgets the statement that was begun
  \\set ON_ERROR_STOP on|off
               whether a script ends at its first error (with exit code 3)
  \\q           ends this; so does Ctrl+D
  Ctrl+C       ends the statement that runs, or forgets the one that was begun
`

export function readBackslash(line: string): Wish {
  const [, name = '', rest = ''] = /^\s*\\(\S*)\s*(.*?)[\s;]*$/s.exec(line) ?? []
  if (name === 'q') return { kind: 'quit' }
  if (name === 'r') return { kind: 'reset' }
  if (name === 'x') return { kind: 'expand' }
  if (name === '?') return { kind: 'help' }
  if (name === 'd') return { kind: 'run', text: rest === '' ? listRelations : describeRelation(rest) }
  const [, value] = /^ON_ERROR_STOP\s+(\S+)$/.exec(rest) ?? []
  if (name === 'set' && value !== undefined) return { kind: 'stopOnError', isOn: isOn(value) }
  return { kind: 'unknown', name }
}

export function isOn(value: string): boolean {
  return /^(on|1|true|yes|t|y)$/i.test(value)
}

const listRelations = `
select n.nspname as "Schema", c.relname as "Name",
  case c.relkind when 'r' then 'table' when 'p' then 'partitioned table' when 'v' then 'view'
    when 'm' then 'materialized view' when 'S' then 'sequence' when 'f' then 'foreign table' end as "Type",
  pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'S', 'f') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  and pg_catalog.pg_table_is_visible(c.oid)
order by 1, 2`

/** The cast says itself what is wrong with a name. */
function describeRelation(name: string): string {
  return `
select a.attname as "Column", pg_catalog.format_type(a.atttypid, a.atttypmod) as "Type",
  case when a.attnotnull then 'not null' else '' end as "Nullable",
  coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid), '') as "Default"
from pg_catalog.pg_attribute a
  left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid = ${pg.escapeLiteral(name)}::pg_catalog.regclass and a.attnum > 0 and not a.attisdropped
order by a.attnum`
}
