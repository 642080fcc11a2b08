import { quoteIdentifier, quoteLiteral } from '../../db/quote.ts'
import type { Column, Guard, Relation } from '../catalog.ts'
import type { DesiredRelation, Step } from '../plan.ts'

/** A relation, or a twin, whose grants no other session is to change. */
export interface Touched {
  readonly name: string
  readonly as?: string
  readonly relation?: Relation
  /** Columns without grants that another session may be granting. */
  readonly columns?: readonly Column[]
}

const why = 'no other session changes its grants meanwhile'

/** Changes nothing: PUBLIC can have no grant option. On the relation it writes the rows of columns that have grants, too. */
const touching = (on: string) => `REVOKE GRANT OPTION FOR SELECT ON ${on} FROM PUBLIC`

/** The row of a column without grants is written by a GRANT alone. The owner of the relation has SELECT without it. */
const touchingColumns = (columns: string, on: string, owner: string) => [
  `GRANT SELECT (${columns}) ON ${on} TO ${owner}`,
  `REVOKE SELECT (${columns}) ON ${on} FROM ${owner}`,
]

export function touch({ name, as, relation, columns = [] }: Touched): Step[] {
  const list = columns.map((column) => quoteIdentifier(column.name)).join(', ')
  const ofColumns =
    relation && columns.length > 0 ? touchingColumns(list, name, quoteIdentifier(relation.owner)) : []
  return [touching(name), ...ofColumns].map((sql) => ({ sql, why, ...(as !== undefined && { as }) }))
}

const mostTries = 200

/** Neither names nor grants that other sessions change all the time make it fail. */
export function touchPatiently({ name, relation, as, columns = [] }: Touched): Step[] {
  const oid = relation?.oid ?? `to_regclass(${quoteLiteral(name)})`
  const numbers = columns.map(({ number }) => number).join(', ')
  const ofColumns = touchingColumns('%2$s', '%1$s', '%3$I').map(
    (text) => `EXECUTE format(${quoteLiteral(text)}, name, list, owner);`,
  )
  const body = `DECLARE name text; owner text; list text; BEGIN FOR tries IN 1..${mostTries} LOOP BEGIN
    -- With each new lock the session hears of what others changed.
    PERFORM pg_relation_size('pg_ts_parser'::regclass);
    SELECT format('%I.%I', n.nspname, c.relname), pg_get_userbyid(c.relowner), (SELECT string_agg(quote_ident(a.attname), ', ')
      FROM pg_attribute a WHERE a.attrelid = c.oid AND NOT a.attisdropped AND a.attnum = ANY (ARRAY[${numbers}]::int2[]))
    INTO name, owner, list FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = ${oid};
    EXIT WHEN name IS NULL;
    EXECUTE format(${quoteLiteral(touching('%s'))}, name);
    IF list IS NOT NULL THEN ${ofColumns.join(' ')} END IF;
    EXIT;
    EXCEPTION WHEN internal_error OR undefined_table OR undefined_column OR undefined_object OR invalid_schema_name
      OR insufficient_privilege THEN NULL; END; END LOOP; END`
  return [{ sql: `DO ${quoteLiteral(body)}`, why, ...(as !== undefined && { as }) }]
}

/**
 * Columns of a table that a plan hides and that could be read before, as far as they have no grants. A session that lost its grant option may
 * be about to commit a grant of one, of which PostgreSQL shows no lock. Of views and copies all columns are hidden, and masked roles make as
 * many of them as they like: these are left out.
 */
export function listNewlyHidden(
  guard: Guard | undefined,
  { relation, pins, hidesAll }: Pick<DesiredRelation, 'relation' | 'pins' | 'hidesAll'>,
): Column[] {
  if (guard?.hidesAll || !(relation.kind === 'table' || relation.kind === 'foreign table')) return []
  const known = new Set(guard?.pins.map(({ number }) => number))
  const hidden = new Set(pins.map(({ number }) => number))
  return relation.columns.filter(
    ({ number, acl }) => (hidesAll || hidden.has(number)) && !known.has(number) && acl.length === 0,
  )
}
