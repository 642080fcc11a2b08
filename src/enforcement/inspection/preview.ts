import type { Database } from '../../db/database.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import type { Tx } from '../../db/transaction.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'
import type { Column, Relation } from '../catalog.ts'
import { observe } from '../observe.ts'
import type { Rule } from '../policy.ts'
import { lockTimeoutMs, prepare } from '../recommendations/recommend.ts'
import { selectStamp } from '../stamp.ts'
import { readTurnFacts } from '../turn-facts.ts'
import { type AssignedRule, assignMasks, type Masks } from '../twins/assign-masks.ts'
import { findLegal } from '../twins/find-legal-constants.ts'
import { maskExpression } from '../twins/masks.ts'
import { readRows, type TextRow } from './read-rows.ts'

export interface PreviewRequest {
  readonly schema: string
  readonly table: string
  /** All that are stored. */
  readonly rules: readonly Rule[]
  /** One that is not stored yet. It takes the place of the stored rule for its column. */
  readonly draft: Rule | undefined
  readonly top: number
  /** With raw values beside the masked ones: for those alone who may see them. */
  readonly raw: boolean
}

export interface Preview {
  readonly columns: readonly {
    readonly name: string
    readonly type: string
    readonly maskingFunction: string | null
  }[]
  /** Values as text, in the order of the columns. */
  readonly rows: readonly {
    readonly values: readonly (string | null)[]
    readonly raw?: readonly (string | null)[]
  }[]
}

const longestValue = 500

/** A column that stored rules mask would be shown under the draft, to a caller who may not see raw values. */
export const draftRefused = 'draftRefused'

/**
 * The first rows of a table as those see it who are not exempt. Null: there is no such table. A draft may keep nearly
 * all of a value, so it replaces a stored mask only for callers who may see the raw value.
 */
export async function preview(
  database: Database,
  request: PreviewRequest,
): Promise<Preview | typeof draftRefused | null> {
  const { schema, table, rules, draft, top, raw } = request
  // The catalogs hold secrets of the server, such as the password verifiers of roles, and nothing that a rule masks.
  if (/^pg_|^information_schema$/.test(schema)) return null
  return database.transaction(async (tx) => {
    await prepare(tx)
    const before = await readStamp(tx, schema, table)
    const targets = [{ schema, table }, ...rules.map((rule) => ({ schema: rule.schema, table: rule.table }))]
    const facts = await readTurnFacts(tx, lockTimeoutMs)
    const observed = await observe(tx, facts, targets, 'all')
    const snapshot = await findLegal(tx, observed, draft ? [...rules, draft] : rules, facts.statementTimeout)
    const relation = snapshot.relations.find((one) => one.schema === schema && one.name === table)
    if (!relation || relation.definition !== null) return null
    const masksUnder = (held: readonly Rule[]): Masks =>
      assignMasks(snapshot, { rules: held }).masks.get(relation.oid) ?? new Map()
    const stored = masksUnder(rules)
    const own = draft ? masksUnder([...rules.filter((rule) => !isSameColumn(rule, draft)), draft]) : stored
    if (!raw && [...stored].some(([column, rule]) => !isSameMask(own.get(column), rule))) return draftRefused
    const columns = relation.columns.map(({ name }) => name)
    const source = await readRows(database, tx, { oid: relation.oid, columns }, top)
    if ((await readStamp(tx, schema, table)) !== before) throw changedMeanwhile()
    const rows = await showRows(tx, relation, own, source)
    return {
      columns: relation.columns.map(({ name, type, number }) => ({
        name,
        type,
        maskingFunction: own.get(number)?.maskingFunction ?? null,
      })),
      rows: rows.map(({ values, raw: beside }) => ({ values, ...(raw && { raw: beside }) })),
    }
  })
}

function isSameColumn(one: Rule, other: Rule): boolean {
  return one.schema === other.schema && one.table === other.table && one.column === other.column
}

/** Every assignment makes new objects for masks that were computed or did not fit. */
function isSameMask(one: AssignedRule | undefined, other: AssignedRule): boolean {
  return one !== undefined && JSON.stringify({ ...one, name: '' }) === JSON.stringify({ ...other, name: '' })
}

/**
 * Changes with every renaming of the table, of its parts or of their schemas: COPY finds them by name, and a role that owns
 * two schemas could exchange these in between, so that a masked table is read under the masks of another.
 */
async function readStamp(tx: Tx, schema: string, table: string): Promise<string> {
  const [row] = await tx<{ stamp: string }[]>`
    with recursive part as (
      select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where n.nspname = ${schema}::text::name and c.relname = ${table}::text::name
      union select i.inhrelid from part join pg_catalog.pg_inherits i on i.inhparent = part.oid
    )
    select coalesce(pg_catalog.string_agg(pg_catalog.concat_ws('/', c.oid, ${selectStamp(tx)}), ' ' order by c.oid), '') as stamp
    from part join pg_catalog.pg_class c using (oid) join pg_catalog.pg_namespace n on n.oid = c.relnamespace`
  return row?.stamp ?? ''
}

/** Of the kind that is tried again. */
function changedMeanwhile(): Error {
  return Object.assign(new Error('the table was changed meanwhile'), { code: sqlstate.serializationFailure })
}

interface ShownRow {
  readonly values: (string | null)[]
  readonly raw: (string | null)[]
}

/**
 * Masks rows that were read as text. The statement names no type and no relation of the database: any role can make both, and
 * casts and checks of a type would run its code with our privileges.
 */
async function showRows(
  tx: Tx,
  { columns }: Relation,
  masks: Masks,
  rows: readonly TextRow[],
): Promise<ShownRow[]> {
  if (rows.length === 0) return []
  const own = columns.map(asBuiltIn)
  const given = own.map(
    (column, at) =>
      `(r.v ->> ${at})::${isCutByType(column) ? column.baseType : 'text'} AS ${quoteIdentifier(column.name)}`,
  )
  const shown = own.map((column) => writeText(expressionOf(column, masks)))
  const raw = own.map((column) => writeText(sourceOf(column)))
  const found = await tx.unsafe<ShownRow[]>(
    `SELECT ARRAY[${shown.join(', ')}]::text[] AS values, ARRAY[${raw.join(', ')}]::text[] AS raw
    FROM (SELECT ${given.join(', ')} FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS r (v, n) ORDER BY r.n) AS t`,
    [JSON.stringify(rows)],
  )
  return [...found]
}

/** A type that is not built in is shown as the text that it was read as, and the first label of an enum as a text. */
function asBuiltIn(column: Column): Column {
  const isBuiltIn = column.baseName !== '' && column.baseName !== 'citext' && column.baseKind === 'b'
  const { baseKind, firstLabel, checkedDomain } = column
  const asText = checkedDomain === null ? { checkedDomain: 0, legal: firstLabel } : {}
  return {
    ...column,
    collation: null,
    ...((!isBuiltIn || column.isArray) && { baseType: 'text' }),
    ...(baseKind === 'e' && { baseKind: 'b', ...asText }),
  }
}

/** Types that cast to text in another form than they are written in. */
function isCutByType({ baseType, baseName }: Column): boolean {
  return baseType !== 'text' && ['bool', 'bpchar', 'varchar'].includes(baseName)
}

const writeText = (expression: string) => `"left"((${expression})::text, ${longestValue})`

function expressionOf(column: Column, masks: Masks): string {
  const rule = masks.get(column.number)
  if (!rule) return sourceOf(column)
  const expression = maskExpression(column, rule, 't')
  if (expression === null) throw new Error('a mask was assigned that does not fit its column')
  return expression
}

const sourceOf = ({ name }: Column) => `t.${quoteIdentifier(name)}`
