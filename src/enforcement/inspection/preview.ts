import type { Database } from '../../db/database.ts'
import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { Column, Relation } from '../catalog.ts'
import { observe } from '../observe.ts'
import type { Rule } from '../policy.ts'
import { lockTimeoutMs, prepare } from '../recommendations/recommend.ts'
import { readTurnFacts } from '../turn-facts.ts'
import { type AssignedRule, assignMasks, type Masks } from '../twins/assign-masks.ts'
import { maskExpression } from '../twins/masks.ts'

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
    const targets = [{ schema, table }, ...rules.map((rule) => ({ schema: rule.schema, table: rule.table }))]
    const snapshot = await observe(tx, await readTurnFacts(tx, lockTimeoutMs), targets, 'all')
    const relation = snapshot.relations.find((one) => one.schema === schema && one.name === table)
    if (!relation || relation.definition !== null) return null
    const masksUnder = (held: readonly Rule[]): Masks =>
      assignMasks(snapshot, { rules: held, exemptRoles: [], suspended: [] }).masks.get(relation.oid) ??
      new Map()
    const stored = masksUnder(rules)
    const own = draft ? masksUnder([...rules.filter((rule) => !isSameColumn(rule, draft)), draft]) : stored
    if (!raw && [...stored].some(([column, rule]) => !isSameMask(own.get(column), rule))) return draftRefused
    const shown = relation.columns.map(
      (column, at) => `${asText(column, expressionOf(column, own))} AS m${at}`,
    )
    const beside = raw
      ? relation.columns.map((column, at) => `${asText(column, sourceOf(column))} AS r${at}`)
      : []
    const rows = await tx.unsafe<Record<string, string | null>[]>(
      `SELECT ${[...shown, ...beside].join(', ')} FROM ${quoteQualified(schema, table)} AS t LIMIT ${top}`,
    )
    return {
      columns: relation.columns.map(({ name, type, number }) => ({
        name,
        type,
        maskingFunction: own.get(number)?.maskingFunction ?? null,
      })),
      rows: rows.map((row) => ({
        values: pick(row, 'm', relation),
        ...(raw && { raw: pick(row, 'r', relation) }),
      })),
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

function expressionOf(column: Column, masks: Masks): string {
  const rule = masks.get(column.number)
  if (!rule) return sourceOf(column)
  const expression = maskExpression(column, rule, 't')
  if (expression === null) throw new Error('a mask was assigned that does not fit its column')
  return expression
}

const sourceOf = ({ name }: Column) => `t.${quoteIdentifier(name)}`

/**
 * Any role can make types other than base types, and a cast to text for them or their arrays, which would run its code with
 * our privileges. Their values are written by the functions of PostgreSQL itself, as clients see them.
 */
function asText({ baseKind, isArray }: Column, expression: string): string {
  const text =
    baseKind === 'b' && !isArray
      ? `(${expression})::text`
      : `CASE WHEN num_nulls(${expression}) = 0 THEN format('%s', ${expression}) END`
  return `"left"(${text}, ${longestValue})`
}

function pick(row: Record<string, string | null>, letter: string, { columns }: Relation): (string | null)[] {
  return columns.map((_, at) => row[`${letter}${at}`] ?? null)
}
