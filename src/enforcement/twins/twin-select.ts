import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../db/quote.ts'
import { SqlRefusal } from '../../sql/refusal.ts'
import type { Relation } from '../catalog.ts'
import type { Masks } from './assign-masks.ts'
import { deferInCondition } from './defer-literals.ts'
import { maskExpression } from './masks.ts'
import { moveRelations } from './move-relations.ts'

/** Reads the relation itself. It is called by its own name, which the conditions of row policies may use. */
export function tableTwinSelect(relation: Relation, masks: Masks, twin: string): string {
  const from = `FROM ${quoteQualified(relation.schema, relation.name)} AS ${quoteIdentifier(relation.name)}`
  // Policies are chosen for the owner of the twin; those that narrow what certain readers see are kept here.
  const conditions = relation.restrictions.map(({ roles, condition }) => {
    const isMeant = roles.map((oid) => `pg_has_role(current_user, ${oid}::oid, 'USAGE') IS NOT FALSE`)
    return `(NOT (${isMeant.join(' OR ')}) OR (${deferInCondition(condition)}))`
  })
  // ENF-525: a view of a narrowed role over the twin would show others, and the role by SET ROLE, what the policies hide from it.
  const mayRead = `has_any_column_privilege(current_user, to_regclass(${quoteLiteral(twin)}), 'SELECT')`
  const where = conditions.length === 0 ? '' : ` WHERE ${[mayRead, ...conditions].join(' AND ')}`
  return `SELECT ${selectList(relation, masks, relation.name)} ${from}${where}`
}

/**
 * The view's own definition, reading twins where it read what is masked now, with masks of its own around it. Null: the
 * definition is not understood, or beyond a limit of the parser; or it reads a table without its children, and PostgreSQL
 * does not know ONLY of a twin.
 */
export function viewTwinSelect(
  relation: Relation,
  masks: Masks,
  moves: ReadonlyMap<string, string>,
): string | null {
  const moved = moveReads((relation.definition ?? '').replace(/;\s*$/, ''), moves)
  if (moved === null) return null
  if (masks.size === 0) return moved
  const columns = relation.columns.map(({ name }) => quoteIdentifier(name)).join(', ')
  return `SELECT ${selectList(relation, masks, 't')} FROM (${moved}) AS t (${columns})`
}

/** One definition that cannot be parsed must not keep other relations from their masks. */
function moveReads(definition: string, moves: ReadonlyMap<string, string>): string | null {
  if (definition === '') return null
  let readsOnly = false
  try {
    const moved = moveRelations(definition, (schema, name, isOnly) => {
      const target = schema === undefined ? undefined : moves.get(quoteQualified(schema, name))
      readsOnly ||= isOnly && target !== undefined
      return target
    })
    return readsOnly ? null : moved
  } catch (error) {
    if (error instanceof SqlRefusal) return null
    throw error
  }
}

function selectList({ columns }: Relation, masks: Masks, alias: string): string {
  const expressions = columns.map((column) => {
    const rule = masks.get(column.number)
    const expression = rule
      ? maskExpression(column, rule, alias)
      : `${quoteIdentifier(alias)}.${quoteIdentifier(column.name)}`
    if (expression === null) throw new Error('a mask was assigned that does not fit its column')
    return expression
  })
  return expressions.join(', ')
}
