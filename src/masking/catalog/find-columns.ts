import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { findDatabase } from '../databases/database-row.ts'
import { lookInto } from '../enforcement/inspection.ts'
import { operation, ownApiVersions, withEnforcement } from '../operation.ts'
import { databasePath, readDatabasePlace, scopeOf } from '../place.ts'
import { ruleRows } from '../rules/rule.ts'
import { nullableString } from '../schemas.ts'
import { refuseZeroInSearch } from './refuse-zero.ts'

const mostColumns = 50

export const findColumns = operation({
  name: 'findColumns',
  clause: 'MASK-209',
  summary: 'Find columns of a bound database by a part of their name',
  method: 'GET',
  path: `${databasePath}/columns`,
  apiVersions: ownApiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/read', scope: scopeOf },
  query: Type.Object({
    search: Type.String({ minLength: 1, maxLength: 200, description: 'A part of schema.table.column' }),
  }),
  answers: {
    200: Type.Object({
      value: Type.Array(
        Type.Object(
          {
            schemaName: Type.String(),
            tableName: Type.String(),
            columnName: Type.String(),
            type: Type.String(),
            ruleName: nullableString,
          },
          { title: 'foundColumn' },
        ),
      ),
    }),
  },

  async run({ params, query: { search }, caller, tx, ports, confirm }) {
    refuseZeroInSearch(search)
    const database = await findDatabase(tx, caller.tenantId, readDatabasePlace(params))
    if (!database?.bound) return withEnforcement(ok({ value: [] }), database, ports, false)
    const found = await ports.inspection.findColumns(lookInto(database, confirm), search, mostColumns)
    const rules = new Map(
      (await ruleRows.list(tx, database.id)).map(({ schemaName, tableName, columnName, name }) => [
        JSON.stringify([schemaName, tableName, columnName]),
        name,
      ]),
    )
    const value = found.map(({ schema, table, column, type }) => ({
      schemaName: schema,
      tableName: table,
      columnName: column,
      type,
      ruleName: rules.get(JSON.stringify([schema, table, column])) ?? null,
    }))
    return withEnforcement(ok({ value }), database, ports, false)
  },
})
