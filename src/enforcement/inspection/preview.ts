import type { Database } from '../../db/database.ts'
import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { Column, Relation } from '../catalog.ts'
import { observe } from '../observe.ts'
import type { Rule } from '../policy.ts'
import { prepare } from '../recommendations/recommend.ts'
import { assignMasks, type Masks } from '../twins/assign-masks.ts'
import { maskExpression } from '../twins/masks.ts'

export interface PreviewRequest {
  readonly schema: string
  readonly table: string
  /** All that hold; one that is not saved yet among them. */
  readonly rules: readonly Rule[]
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

/** The first rows of a table as those see it who are not exempt. Null: there is no such table. */
export async function preview(database: Database, request: PreviewRequest): Promise<Preview | null> {
  const { schema, table, rules, top, raw } = request
  // The catalogs hold secrets of the server, such as the password verifiers of roles, and nothing that a rule masks.
  if (/^pg_|^information_schema$/.test(schema)) return null
  return database.transaction(async (tx) => {
    await prepare(tx)
    const targets = [{ schema, table }, ...rules.map((rule) => ({ schema: rule.schema, table: rule.table }))]
    const snapshot = await observe(tx, targets, 'all')
    const relation = snapshot.relations.find((one) => one.schema === schema && one.name === table)
    if (!relation || relation.definition !== null) return null
    const { masks } = assignMasks(snapshot, { rules, exemptRoles: [], suspended: [] })
    const own: Masks = masks.get(relation.oid) ?? new Map()
    const shown = relation.columns.map((column, at) => `${cut(expressionOf(column, own))} AS m${at}`)
    const beside = raw ? relation.columns.map((column, at) => `${cut(sourceOf(column))} AS r${at}`) : []
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

function expressionOf(column: Column, masks: Masks): string {
  const rule = masks.get(column.number)
  if (!rule) return sourceOf(column)
  const expression = maskExpression(column, rule, 't')
  if (expression === null) throw new Error('a mask was assigned that does not fit its column')
  return expression
}

const sourceOf = ({ name }: Column) => `t.${quoteIdentifier(name)}`
const cut = (expression: string) => `"left"((${expression})::text, ${longestValue})`

function pick(row: Record<string, string | null>, letter: string, { columns }: Relation): (string | null)[] {
  return columns.map((_, at) => row[`${letter}${at}`] ?? null)
}
