import { quoteIdentifier, quoteQualified } from '../db/quote.ts'
import type { Masks } from './assign-masks.ts'
import type { Relation } from './catalog.ts'
import { maskExpression } from './masks.ts'
import { moveRelations } from './move-relations.ts'
import { shadowSchemaName } from './names.ts'

const alias = 't'

export function tableTwinSelect(relation: Relation, masks: Masks): string {
  const columns = relation.columns.map((column) => {
    const rule = masks.get(column.number)
    const expression = rule ? maskExpression(column, rule, alias) : `${alias}.${quoteIdentifier(column.name)}`
    if (expression === null) throw new Error('a mask was assigned that does not fit its column')
    return expression
  })
  return `SELECT ${columns.join(', ')} FROM ${quoteQualified(relation.schema, relation.name)} AS ${alias}`
}

/** The view's own definition, reading twins where it read what is masked now. */
export function viewTwinSelect(definition: string, twins: ReadonlyMap<number, Relation>): string {
  const moves = new Map(
    [...twins.values()].map(({ schema, name }) => [
      quoteQualified(schema, name),
      quoteQualified(shadowSchemaName(schema), name),
    ]),
  )
  return moveRelations(definition.replace(/;\s*$/, ''), (schema, name) =>
    schema === undefined ? undefined : moves.get(quoteQualified(schema, name)),
  )
}
