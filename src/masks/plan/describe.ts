import type { Note } from '../../contracts/note.ts'
import type { Column, Relation } from '../model.ts'
import type { Rule } from '../policy.ts'

export const note = (code: Note['code'], target: string, ...message: readonly string[]): Note => ({
  ...{ code, target, message: message.join(' ') },
})

const closed = 'It is closed to all roles that are not exempt.'

export const noTwin = ({ schema, name }: Relation, reason: string) =>
  note(
    'NoTwin',
    `${schema}.${name}`,
    `${schema}.${name} shows masked data and has no masked twin: ${reason}. ${closed}`,
  )

const targetOf = ({ schema, table, column }: Rule) => `${schema}.${table}.${column}`

export const doesNotFit = (rule: Rule, { type }: Column) =>
  note(
    'FunctionDoesNotFit',
    targetOf(rule),
    `The function ${rule.maskingFunction} does not fit ${targetOf(rule)} of type ${type};`,
    'it is masked with Default.',
  )

export const renamed = (rule: Rule, { schema, name }: Relation, column: Column) =>
  note(
    'ColumnRenamed',
    targetOf(rule),
    `The column ${targetOf(rule)} is now ${schema}.${name}.${column.name} and stays masked.`,
    'Update the rule to its new name.',
  )

export const missing = (rule: Rule) =>
  note(
    'ColumnMissing',
    targetOf(rule),
    `The rule '${rule.name}' names ${targetOf(rule)}, which does not exist.`,
  )
