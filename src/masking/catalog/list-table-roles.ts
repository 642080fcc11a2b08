import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { findDatabase } from '../databases/database-row.ts'
import { operation, ownApiVersions, withEnforcement } from '../operation.ts'
import { databasePath, readDatabasePlace, scopeOf } from '../place.ts'
import { refuseZero, refuseZeroInSearch } from './refuse-zero.ts'

const mostRoles = 50

const roleAnswer = Type.Object(
  {
    role: Type.String(),
    canLogIn: Type.Boolean(),
    keepsRaw: Type.Boolean({
      description:
        'No mask changes what it sees: it is exempt, a superuser, owns the table or reads all data',
    }),
    rawColumns: Type.Array(Type.String({ description: 'Read in the table itself' })),
    maskedColumns: Type.Array(Type.String({ description: 'Read in the masked view alone' })),
  },
  { title: 'tableRole' },
)

export const listTableRoles = operation({
  name: 'listTableRoles',
  clause: 'MASK-218',
  summary: 'List database roles with what each sees of a table',
  method: 'GET',
  path: `${databasePath}/schemas/:schemaName/tables/:tableName/roles`,
  apiVersions: ownApiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/dataMaskingPolicies/read', scope: scopeOf },
  query: Type.Object({
    search: Type.Optional(
      Type.String({
        maxLength: 200,
        description: 'A part of the name; the role of exactly this name is first',
      }),
    ),
  }),
  answers: { 200: Type.Object({ value: Type.Array(roleAnswer) }) },

  async run({ params, query: { search = '' }, caller, tx, ports, request }) {
    const { schemaName = '', tableName = '' } = params
    refuseZero({ schemaName, tableName })
    refuseZeroInSearch(search)
    const database = await findDatabase(tx, caller.tenantId, readDatabasePlace(params))
    const wanted = { schema: schemaName, table: tableName, search, limit: mostRoles }
    const value = database?.bound ? await ports.inspection.browseRoles(database.id, wanted) : null
    if (!database || !value) return fail('ResourceNotFound', { id: request.path })
    return withEnforcement(ok({ value }), database, ports, false)
  },
})
