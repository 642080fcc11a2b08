import { quoteLiteral } from '../../db/quote.ts'
import type { Tx } from '../../db/transaction.ts'
import { Lexer } from '../../sql/lexer.ts'
import type { Column, Relation } from '../catalog.ts'
import { candidatesFor, writeConstant } from './masks.ts'

/**
 * Finds for each domain with checks a constant that it accepts, by trying. Checks that call anything but immutable
 * built-ins are never run: they would run another role's code with our privileges. What is run is the text of the checks as they
 * were judged, never a cast to the domain: its owner may change the domain in between.
 */
export async function findLegal(tx: Tx, relations: readonly Relation[]): Promise<Relation[]> {
  const columns = relations.flatMap((relation) => relation.columns)
  const domains = [...new Set(columns.flatMap(({ checkedDomain }) => checkedDomain ?? []))]
  if (domains.length === 0) return [...relations]
  const checks = await readHarmless(tx, domains)
  const known = new Map<string, string | null>()
  const legalFor = async (column: Column) => {
    const texts = column.checkedDomain === null ? undefined : checks.get(column.checkedDomain)
    if (!texts) return null
    const key = `${column.checkedDomain} ${column.baseType}`
    const found = known.get(key)
    if (found !== undefined) return found
    const legal = await tryChecks(tx, column, texts)
    known.set(key, legal)
    return legal
  }
  const found: Relation[] = []
  for (const relation of relations) {
    const own: Column[] = []
    for (const column of relation.columns)
      own.push(column.checkedDomain === null ? column : { ...column, legal: await legalFor(column) })
    found.push({ ...relation, columns: own })
  }
  return found
}

async function tryChecks(tx: Tx, column: Column, checks: readonly string[]): Promise<string | null> {
  for (const candidate of candidatesFor(column)) {
    const conditions = checks.map((check) => replaceValue(check, writeStandIn(column, candidate)))
    if (conditions.some((condition) => condition === null)) return null
    const judged = tx.savepoint(async () => {
      const [row] = await tx.unsafe<{ fits: boolean }[]>(
        `select ${conditions.map((condition) => `(${condition}) is not false`).join(' and ')} as fits`,
      )
      return row?.fits === true
    })
    // A check that fails with an error accepts nothing.
    if (await judged.catch(() => false)) return candidate
  }
  return null
}

/** The constant as the checks see it. A type that is not built in is not named: a role can put another in its place. */
function writeStandIn(column: Column, text: string): string {
  if (column.baseName !== '' && column.baseName !== 'citext') return `(${writeConstant(column, text)})`
  const type = column.isArray ? 'text[]' : (standIns[column.baseKind] ?? 'text')
  return `(${quoteLiteral(text)}::${type})`
}

/** Of ranges the empty one alone is tried, which all of them have. */
const standIns: Readonly<Record<string, string>> = { r: 'int4range', m: 'int4multirange' }

/** PostgreSQL writes the value that a domain checks as the bare word VALUE. Null: the text is not understood. */
function replaceValue(check: string, constant: string): string | null {
  const lexer = new Lexer(check)
  let text = ''
  let from = 0
  while (lexer.next())
    if (lexer.isWord('value')) {
      text += check.slice(from, lexer.from) + constant
      from = lexer.to
    }
  return lexer.isCertain ? text + check.slice(from) : null
}

/** Of a check, as stored and compressed: the owner of a domain may write one that is longer than PostgreSQL can search. */
const mostStoredBytes = 16_384

/**
 * The checks of each domain and of those below it, as text; none for a domain whose checks are not harmless. A check names its
 * functions and operators in its stored tree; what is not built in is also among its dependencies. One that casts to a domain
 * would run the checks which that one has by then.
 */
async function readHarmless(tx: Tx, domains: readonly number[]): Promise<Map<number, string[]>> {
  const isShort = tx`pg_catalog.pg_column_size(c.conbin) <= ${mostStoredBytes}`
  const rows = await tx<{ oid: number; checks: string[] }[]>`
    with recursive chain as (
      select oid as domain, oid, typbasetype from pg_catalog.pg_type where oid = any(${domains}::oid[])
      union all
      select chain.domain, t.oid, t.typbasetype from chain join pg_catalog.pg_type t on t.oid = chain.typbasetype
    )
    select domain::int8 as oid, array_agg(pg_catalog.pg_get_expr(c.conbin, 0)) filter (where ${isShort}) as checks
    from chain
    left join pg_catalog.pg_constraint c on c.contypid = chain.oid and c.contype = 'c'
    group by domain
    having count(c.oid) > 0 and bool_and(c.oid is null or case when not ${isShort} then false else
      not exists (select 1 from pg_catalog.pg_depend d where d.classid = 'pg_catalog.pg_constraint'::regclass and d.objid = c.oid
        and not (d.refclassid = 'pg_catalog.pg_type'::regclass and d.refobjid = c.contypid))
      and pg_catalog.strpos(c.conbin::text, '{COERCETODOMAIN ') = 0
      and not exists (
        select 1 from regexp_matches(c.conbin::text, ':(funcid|opfuncid|opno) ([1-9][0-9]*)', 'g') used(part)
        left join pg_catalog.pg_operator o on part[1] = 'opno' and o.oid = part[2]::oid
        left join pg_catalog.pg_proc p on p.oid = coalesce(o.oprcode::oid, case when part[1] <> 'opno' then part[2]::oid end)
        where p.oid is null or p.provolatile <> 'i' or p.pronamespace <> 'pg_catalog'::regnamespace) end)`
  return new Map(rows.map(({ oid, checks }) => [oid, checks]))
}
