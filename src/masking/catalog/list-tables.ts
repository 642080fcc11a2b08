import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { findDatabase } from '../databases/database-row.ts'
import { lookInto } from '../enforcement/inspection.ts'
import { operation, ownApiVersions, withEnforcement } from '../operation.ts'
import { decodeSkipToken, encodeSkipToken, nextLink } from '../page.ts'
import { databasePath, readDatabasePlace, scopeOf } from '../place.ts'
import { ruleRows } from '../rules/rule.ts'
import { refuseZeroInSearch } from './refuse-zero.ts'

const pageSize = 500

const tableAnswer = Type.Object(
  {
    schemaName: Type.String(),
    tableName: Type.String(),
    columnCount: Type.Integer(),
    ruleCount: Type.Integer(),
    estimatedRows: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
  },
  { title: 'tableEntry' },
)

export const listTables = operation({
  name: 'listTables',
  clause: 'MASK-202',
  summary: 'List the tables of a bound database that rules can be for',
  method: 'GET',
  path: `${databasePath}/tables`,
  apiVersions: ownApiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/read', scope: scopeOf },
  query: Type.Object({
    search: Type.Optional(Type.String({ maxLength: 200, description: 'A part of schema.table' })),
    $skipToken: Type.Optional(Type.String()),
  }),
  answers: { 200: Type.Object({ value: Type.Array(tableAnswer), nextLink: Type.Optional(Type.String()) }) },

  async run({ params, query, caller, tx, ports, confirm, request }) {
    const { search = '' } = query
    refuseZeroInSearch(search)
    const database = await findDatabase(tx, caller.tenantId, readDatabasePlace(params))
    if (!database?.bound) return withEnforcement(ok({ value: [] }), database, ports, false)
    const [schema = '', table = ''] = decodeSkipToken(query.$skipToken, 2) ?? []
    const wanted = { search, after: { schema, table }, limit: pageSize + 1 }
    const found = await ports.inspection.browseTables(lookInto(database, confirm), wanted)
    const page = found.slice(0, pageSize)
    const last = page.at(-1)
    const ruled = Map.groupBy(await ruleRows.list(tx, database.id), ({ schemaName, tableName }) =>
      JSON.stringify([schemaName, tableName]),
    )
    const value = page.map((entry) => ({
      schemaName: entry.schema,
      tableName: entry.table,
      columnCount: entry.columns,
      ruleCount: ruled.get(JSON.stringify([entry.schema, entry.table]))?.length ?? 0,
      estimatedRows: entry.estimatedRows,
    }))
    const next = last &&
      found.length > pageSize && {
        'api-version': request.apiVersion,
        ...(search !== '' && { search }),
        $skipToken: encodeSkipToken([last.schema, last.table]),
      }
    return withEnforcement(
      ok({ value, ...(next && { nextLink: nextLink(request, next) }) }),
      database,
      ports,
      false,
    )
  },
})
