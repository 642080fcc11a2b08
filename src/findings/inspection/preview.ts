import type { Preview, PreviewRequest } from '../../contracts/inspection.ts'
import type { Database } from '../../db/database.ts'
import { quoteIdentifier, quoteLiteral } from '../../db/quote.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Column, MaskOf, Masks, Relation } from '../../masks/model.ts'
import { assignMasks } from '../../masks/plan/assign-masks.ts'
import { maskExpression } from '../../masks/plan/expressions.ts'
import type { Rule } from '../../masks/policy.ts'
import { findRelations, readRelations } from '../../masks/read/relations.ts'
import { readStart } from '../../masks/read/start.ts'
import { glance, keyOf, lockTimeoutMs } from './ordinary-tables.ts'
import { readRows, type TextRow } from './read-rows.ts'

const longestValue = 500

/** A column that stored rules mask would be shown under the draft, to a caller who may not see raw values. */
export const draftRefused = 'draftRefused'

/**
 * The first rows of a table as those see it who are not exempt. Null: there is no such table. A draft may keep nearly
 * all of a value, so it replaces a stored mask only for callers who may see the raw value.
 */
export async function preview(
  database: Database,
  request: PreviewRequest<Rule>,
): Promise<Preview | typeof draftRefused | null> {
  const { schema, table, rules, draft, top, raw } = request
  // The catalogs hold secrets of the server, such as the password verifiers of roles, and nothing that a rule masks.
  if (/^pg_|^information_schema$/.test(schema)) return null
  return glance(database, async (tx) => {
    const targets = [{ schema, table }, ...rules.map((rule) => ({ schema: rule.schema, table: rule.table }))]
    const { server } = await readStart(tx, lockTimeoutMs)
    const oids = await findRelations(tx, targets, null, true)
    const relations = await readRelations(tx, oids, server.version)
    const snapshot = { relations, records: new Map(), isWhole: true }
    const relation = [...relations.values()].find((one) => one.schema === schema && one.name === table)
    if (!relation || relation.kind.endsWith('view')) return null
    const masksUnder = (held: readonly Rule[]): Masks =>
      assignMasks(snapshot, held).masks.get(relation.oid) ?? new Map()
    const stored = masksUnder(rules)
    const own = draft ? masksUnder([...rules.filter((rule) => keyOf(rule) !== keyOf(draft)), draft]) : stored
    if (!raw && [...stored].some(([column, rule]) => !isSameMask(own.get(column), rule))) return draftRefused
    const columns = relation.columns.map(({ name }) => name)
    const source = await readRows(database, tx, { oid: relation.oid, columns }, top)
    const rows = await showRows(tx, relation, own, source)
    return {
      columns: relation.columns.map(({ name, type, number }) => ({
        name,
        type,
        maskingFunction: own.get(number)?.maskingFunction ?? null,
        isDraft: isDraft(own.get(number), stored.get(number)),
      })),
      rows: rows.map(({ values, raw: beside }) => ({ values, ...(raw && { raw: beside }) })),
    }
  })
}

function isDraft(own: MaskOf | undefined, stored: MaskOf | undefined): boolean {
  return own !== undefined && !(stored && isSameMask(own, stored))
}

/** Every assignment makes new objects for masks that were computed or did not fit. */
function isSameMask(one: MaskOf | undefined, other: MaskOf): boolean {
  return one !== undefined && JSON.stringify({ ...one, name: '' }) === JSON.stringify({ ...other, name: '' })
}

/**
 * Masks rows that were read as text. The statement names no type and no relation of the database: any role can make
 * both, and casts and checks of a type would run its code with our privileges.
 */
async function showRows(
  tx: Tx,
  { columns }: Relation,
  masks: Masks,
  rows: readonly TextRow[],
): Promise<{ readonly values: TextRow; readonly raw: TextRow }[]> {
  if (rows.length === 0) return []
  const own = columns.map(asBuiltIn)
  const given = own.map(
    (column, at) =>
      `(r.v ->> ${at})::${isCutByType(column) ? column.baseType : 'text'} AS ${quoteIdentifier(column.name)}`,
  )
  const shown = own.map((column) => writeText(expressionOf(column, masks)))
  const raw = own.map((column) => writeText(sourceOf(column)))
  const found = await tx.unsafe<{ values: TextRow; raw: TextRow }[]>(
    `SELECT ARRAY[${shown.join(', ')}]::text[] AS values, ARRAY[${raw.join(', ')}]::text[] AS raw
    FROM (SELECT ${given.join(', ')} FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS r (v, n)
      ORDER BY r.n) AS t`,
    [JSON.stringify(rows)],
  )
  return [...found]
}

/** A type that is not built in is shown as the text that it was read as. */
function asBuiltIn(column: Column): Column {
  const isBuiltIn = column.baseName !== '' && column.baseName !== 'citext' && column.baseKind === 'b'
  return {
    ...column,
    collation: null,
    ...((!isBuiltIn || column.isArray) && { baseType: 'text' }),
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
  const { baseKind, firstLabel } = column
  if (baseKind === 'e' && !column.isChecked && firstLabel !== null)
    return `CASE WHEN ${sourceOf(column)} IS NOT NULL THEN ${quoteLiteral(firstLabel)} END`
  const expression = maskExpression(column, rule, 't')
  if (expression === null) throw new Error('a mask was assigned that does not fit its column')
  return expression
}

const sourceOf = ({ name }: Column) => `t.${quoteIdentifier(name)}`
