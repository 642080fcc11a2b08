import { quoteLiteral } from '../../db/quote.ts'
import { sqlstateOf } from '../../db/sqlstate.ts'
import type { Tx } from '../../db/transaction.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'
import { Lexer } from '../../sql/lexer.ts'
import type { Column, Relation, Snapshot } from '../catalog.ts'
import type { Rule } from '../policy.ts'
import { assignMasks } from './assign-masks.ts'
import { candidatesFor, writeConstant } from './masks.ts'

/** A role can write checks that take hours: so long for the checks of one domain, and for those of a turn. */
const oneMs = 50
const allMs = 300

/**
 * Finds by trying, for each column that gets the mask `Default` and whose domain has checks, a constant that these accept. Checks
 * that call anything but immutable built-ins are never run: they would run another role's code with our privileges. What is run
 * is the text of the checks as they were judged, never a cast to the domain: its owner may change the domain in between.
 */
export async function findLegal(
  tx: Tx,
  snapshot: Snapshot,
  rules: readonly Rule[],
  statementTimeout: string,
): Promise<Snapshot> {
  if (!snapshot.relations.some(({ columns }) => columns.some(isChecked))) return snapshot
  const { masks } = assignMasks(snapshot, { rules })
  const needsConstant = ({ oid }: Relation, column: Column) =>
    isChecked(column) && masks.get(oid)?.get(column.number)?.maskingFunction === 'Default'
  const asked = snapshot.relations.flatMap((one) =>
    one.columns.filter((column) => needsConstant(one, column)),
  )
  if (asked.length === 0) return snapshot
  const checks = await readHarmless(tx, [
    ...new Set(asked.flatMap(({ checkedDomain }) => checkedDomain ?? [])),
  ])
  const trial = new Trial(tx, statementTimeout)
  const legal = new Map<string, string | null>()
  for (const column of asked)
    if (!legal.has(keyOf(column)))
      legal.set(keyOf(column), await trial.search(column, checks.get(column.checkedDomain ?? 0)))
  const relations = snapshot.relations.map((one) =>
    masks.has(one.oid)
      ? {
          ...one,
          columns: one.columns.map((column) =>
            needsConstant(one, column) ? { ...column, legal: legal.get(keyOf(column)) ?? null } : column,
          ),
        }
      : one,
  )
  return { ...snapshot, relations }
}

const isChecked = ({ checkedDomain }: Column) => checkedDomain !== null
const keyOf = ({ checkedDomain, baseType }: Column) => `${checkedDomain} ${baseType}`

/** Runs checks until the time for them is spent. */
class Trial {
  readonly #tx: Tx
  readonly #statementTimeout: string
  #leftMs = allMs

  constructor(tx: Tx, statementTimeout: string) {
    this.#tx = tx
    this.#statementTimeout = statementTimeout
  }

  /** The first candidate that the checks accept. Null: they accept none in time, or are not to be run. */
  async search(column: Column, checks: readonly string[] | undefined): Promise<string | null> {
    const candidates = candidatesFor(column)
    const conditions = candidates.map((candidate) => writeCondition(column, candidate, checks ?? []))
    if (!checks || candidates.length === 0 || conditions.includes(null)) return null
    const together = await this.#findFirst(conditions)
    if (together !== 'failed') return candidates[together ?? -1] ?? null
    // A check that fails with an error accepts nothing; another candidate may pass it.
    for (const [at, condition] of conditions.entries()) {
      const found = await this.#findFirst([condition])
      if (found === 0) return candidates[at] ?? null
      if (found === null) return null
    }
    return null
  }

  /** The place of the first condition that holds, past the last one where none does. Null: it was not found in time. */
  async #findFirst(conditions: readonly (string | null)[]): Promise<number | 'failed' | null> {
    if (this.#leftMs <= 0) return null
    const cases = conditions.map((condition, at) => `when ${condition} then ${at}`)
    let from = Date.now()
    try {
      return await this.#tx.savepoint(async () => {
        await this.#setLimit(String(Math.min(oneMs, this.#leftMs)))
        // The way to the server and back is not the checks' time.
        from = Date.now() + (Date.now() - from)
        const [row] = await this.#tx.unsafe<{ at: number }[]>(
          `select case ${cases.join(' ')} else ${cases.length} end as at`,
        )
        this.#spend(from)
        await this.#setLimit(this.#statementTimeout)
        return row?.at ?? null
      })
    } catch (error) {
      this.#spend(from)
      return sqlstateOf(error) === sqlstate.queryCanceled ? null : 'failed'
    }
  }

  #setLimit(limit: string) {
    return this.#tx`select set_config('statement_timeout', ${limit}, true)`
  }

  #spend(from: number): void {
    this.#leftMs -= Math.max(0, Date.now() - from)
  }
}

/** Null: the text of a check is not understood. */
function writeCondition(column: Column, candidate: string, checks: readonly string[]): string | null {
  const conditions = checks.map((check) => replaceValue(check, writeStandIn(column, candidate)))
  if (conditions.includes(null)) return null
  return conditions.map((condition) => `(${condition}) is not false`).join(' and ')
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

/** Lower OIDs are of objects that the server has from its beginning, which no role but a superuser changes. */
const firstOfUsers = 16_384

/** Of a check, as stored and compressed: the owner of a domain may write one that is longer than PostgreSQL can search. */
const mostStoredBytes = 16_384

/**
 * Parts of a stored expression that run nothing but functions and operators whose OIDs the judgement reads, and input and output of
 * types whose OIDs it reads. Other parts stay out: comparisons of rows, `GREATEST` and `LEAST` take operators that the expression does
 * not name; a cast to a domain, and `JSON_VALUE … RETURNING` of one, run the checks which that one has by then.
 */
const harmlessParts = [
  ...['CONST', 'COERCETODOMAINVALUE', 'SQLVALUEFUNCTION', 'FUNCEXPR', 'OPEXPR', 'DISTINCTEXPR', 'NULLIFEXPR'],
  ...['SCALARARRAYOPEXPR', 'BOOLEXPR', 'NULLTEST', 'BOOLEANTEST', 'CASEEXPR', 'CASEWHEN', 'CASETESTEXPR'],
  ...['COALESCEEXPR', 'ARRAYEXPR', 'SUBSCRIPTINGREF', 'RELABELTYPE', 'COLLATEEXPR', 'COERCEVIAIO'],
  'ARRAYCOERCEEXPR',
  // As 14 writes them.
  ...['CASE', 'WHEN', 'COALESCE', 'ARRAY', 'COLLATE'],
]

/** Fields of these parts, of PostgreSQL 14 to 18, that hold the OID of a function, an operator, a type or a collation. */
const objectFields = [
  'funcid funcresulttype funccollid inputcollid opno opfuncid opresulttype opcollid hashfuncid negfuncid consttype constcollid',
  'typeId collation collOid type resulttype resultcollid casetype casecollid coalescetype coalescecollid array_typeid array_collid',
  'element_typeid refcollid',
].flatMap((names) => names.split(' '))

/**
 * Their other fields: parts inside, modes, lengths and places in the text. So are the types of a subscript: its text names none, and takes
 * them from what it subscripts. That is VALUE, or a part that has its own type in a field above.
 */
const plainFields = [
  'refcontainertype refelemtype refrestype',
  'arg args expr result defresult elements elemexpr refupperindexpr reflowerindexpr refexpr refassgnexpr op boolop nulltesttype',
  'booltesttype argisrow useOr multidims funcretset funcvariadic opretset funcformat coerceformat relabelformat typmod typeMod reftypmod',
  'resulttypmod consttypmod constlen constbyval constisnull constvalue location list_start list_end',
].flatMap((names) => names.split(' '))

/**
 * The checks of each domain and of those below it, as text; none for a domain whose checks are not harmless. Every object in the stored
 * tree is PostgreSQL's own, so that the text has no name whose meaning a role can change: not every type in it is among the
 * dependencies, and a role may make a cast of its type after the check. VALUE may be of a type of a role: the text has a constant of a
 * built-in type in its place. Names and constants cannot hide a part or pretend to be one: PostgreSQL puts a backslash before a brace
 * or space of a name, and writes constants as numbers.
 */
async function readHarmless(tx: Tx, domains: readonly number[]): Promise<Map<number, string[]>> {
  const isShort = tx`pg_catalog.pg_column_size(c.conbin) <= ${mostStoredBytes}`
  const rows = await tx<{ oid: number; checks: string[] }[]>`
    with recursive chain as (
      select oid as domain, oid, typbasetype from pg_catalog.pg_type where oid = any(${domains}::oid[])
      union all
      select chain.domain, t.oid, t.typbasetype from chain join pg_catalog.pg_type t on t.oid = chain.typbasetype
    ), judged as materialized (
      select chain.domain, c.conbin, case when not ${isShort} then false else
        not exists (select 1 from pg_catalog.pg_depend d where d.classid = 'pg_catalog.pg_constraint'::regclass and d.objid = c.oid
          and not (d.refclassid = 'pg_catalog.pg_type'::regclass and d.refobjid = c.contypid))
        and not exists (select 1 from regexp_matches(c.conbin::text, '[{]([^ }]*)', 'g') node(part)
          where part[1] <> all(${harmlessParts}::text[]))
        and not exists (
          select 1 from regexp_matches(c.conbin::text, '([{]COERCETODOMAINVALUE )?:([^ ]+) ([^ {})]*)', 'g') field(part)
          where case when part[2] <> all(${objectFields}::text[]) then part[2] <> all(${plainFields}::text[])
            when part[1] is not null and part[2] = 'typeId' then false
            when part[3] ~ '^[0-9]{1,5}$' then part[3]::int >= ${firstOfUsers} else true end)
        and not exists (
          select 1 from regexp_matches(c.conbin::text, ':(funcid|opfuncid|opno) ([1-9][0-9]*)', 'g') used(part)
          left join pg_catalog.pg_operator o on part[1] = 'opno' and o.oid = part[2]::oid
          left join pg_catalog.pg_proc p on p.oid = coalesce(o.oprcode::oid, case when part[1] <> 'opno' then part[2]::oid end)
          where p.oid is null or p.provolatile <> 'i' or p.pronamespace <> 'pg_catalog'::regnamespace) end as is_harmless
      from chain join pg_catalog.pg_constraint c on c.contypid = chain.oid and c.contype = 'c'
    )
    -- Others may have a type that was dropped, which PostgreSQL fails to print.
    select domain::int8 as oid, array_agg(pg_catalog.pg_get_expr(conbin, 0)) filter (where is_harmless) as checks
    from judged group by domain having bool_and(is_harmless)`
  return new Map(rows.map(({ oid, checks }) => [oid, checks]))
}
