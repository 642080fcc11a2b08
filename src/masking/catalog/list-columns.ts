import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { findDatabase } from '../databases/database-row.ts'
import { lookInto } from '../enforcement/inspection.ts'
import { operation, ownApiVersions, withEnforcement } from '../operation.ts'
import { databasePath, readDatabasePlace, scopeOf } from '../place.ts'
import { fittingFunctions } from '../rules/fit-column.ts'
import { ruleRows } from '../rules/rule.ts'
import { maskFields, maskingFunctions, pick } from '../rules/rule-fields.ts'
import { each, nullableString, oneOf } from '../schemas.ts'
import { refuseZero } from './refuse-zero.ts'

const columnAnswer = Type.Object(
  {
    columnName: Type.String(),
    type: Type.String(),
    isNullable: Type.Boolean(),
    isKey: Type.Boolean({ description: 'Part of the primary key' }),
    fittingFunctions: Type.Array(oneOf(maskingFunctions)),
    rule: Type.Union([
      Type.Object({
        name: Type.String(),
        maskingFunction: oneOf(maskingFunctions),
        ...each(maskFields, nullableString),
      }),
      Type.Null(),
    ]),
  },
  { title: 'columnEntry' },
)

export const listColumns = operation({
  name: 'listColumns',
  clause: 'MASK-203',
  summary:
    'List the columns of a table of a bound database, each with its rule and the functions that fit it',
  method: 'GET',
  path: `${databasePath}/schemas/:schemaName/tables/:tableName/columns`,
  apiVersions: ownApiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/read', scope: scopeOf },
  answers: { 200: Type.Object({ value: Type.Array(columnAnswer) }) },

  async run({ params, caller, tx, ports, confirm, request }) {
    const { schemaName = '', tableName = '' } = params
    refuseZero({ schemaName, tableName })
    const database = await findDatabase(tx, caller.tenantId, readDatabasePlace(params))
    const columns = database?.bound
      ? await ports.inspection.browseColumns(lookInto(database, confirm), schemaName, tableName)
      : []
    if (!database || columns.length === 0) return fail('ResourceNotFound', { id: request.path })
    const all = await ruleRows.list(tx, database.id)
    const own = all.filter((rule) => rule.schemaName === schemaName && rule.tableName === tableName)
    const rules = new Map(own.map((rule) => [rule.columnName, rule]))
    const value = columns.map(({ column, type, isNullable, isKey, baseName, category }) => {
      const rule = rules.get(column)
      return {
        columnName: column,
        type,
        isNullable,
        isKey,
        fittingFunctions: fittingFunctions({ name: baseName, category }),
        rule: rule
          ? { name: rule.name, maskingFunction: rule.maskingFunction, ...pick(rule, maskFields) }
          : null,
      }
    })
    return withEnforcement(ok({ value }), database, ports, false)
  },
})
