import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { queryOption } from '../../api/query-option.ts'
import { fail } from '../../kernel/problem.ts'
import { findDatabase } from '../databases/database-row.ts'
import { lookInto } from '../enforcement/inspection.ts'
import { operation, ownApiVersions, withEnforcement } from '../operation.ts'
import { decodeSkipToken, encodeSkipToken, nextLink } from '../page.ts'
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
    $skipToken: queryOption('Where the next page starts; part of nextLink.'),
  }),
  answers: {
    200: Type.Object({
      value: Type.Array(roleAnswer),
      nextLink: Type.Optional(Type.String({ format: 'uri' })),
    }),
  },

  async run({ params, query: { search = '', $skipToken }, caller, tx, ports, confirm, request }) {
    const { schemaName = '', tableName = '' } = params
    refuseZero({ schemaName, tableName })
    refuseZeroInSearch(search)
    const database = await findDatabase(tx, caller.tenantId, readDatabasePlace(params))
    const [after = null] = decodeSkipToken($skipToken, 1) ?? []
    const wanted = { schema: schemaName, table: tableName, search, after, limit: mostRoles }
    const page = database?.bound
      ? await ports.inspection.browseRoles(lookInto(database, confirm), wanted)
      : null
    if (!database || !page) return fail('ResourceNotFound', { id: request.path })
    const { roles, last } = page
    const next = last !== null && {
      nextLink: nextLink(request, {
        'api-version': ownApiVersions[0],
        search: search === '' ? undefined : search,
        $skipToken: encodeSkipToken([last]),
      }),
    }
    return withEnforcement(ok({ value: [...roles], ...next }), database, ports, false)
  },
})
