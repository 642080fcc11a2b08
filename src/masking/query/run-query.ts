import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { findDatabase } from '../databases/database-row.ts'
import { lookInto } from '../enforcement/inspection.ts'
import { operation, ownApiVersions } from '../operation.ts'
import { databasePath, readDatabasePlace, scopeOf } from '../place.ts'
import { ruleRows } from '../rules/rule.ts'
import { nullableString, strict } from '../schemas.ts'

export const queryAction = 'Vendor.Sql/servers/databases/query/action'
const most = { rows: 10_000, seconds: 50 }
const usual = { rows: 500, seconds: 15 }

const queryInput = Type.Object(
  {
    sql: Type.String({ minLength: 1, maxLength: 100_000, description: 'One statement' }),
    isReadOnly: Type.Optional(Type.Boolean({ description: 'True unless said otherwise' })),
    rowLimit: Type.Optional(Type.Integer({ minimum: 1, maximum: most.rows })),
    timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: most.seconds })),
  },
  strict,
)

const queryAnswer = Type.Object(
  {
    columns: Type.Array(
      Type.Object({
        name: Type.String(),
        isMasked: Type.Boolean({ description: 'It is a masked column as it stands' }),
      }),
    ),
    rows: Type.Array(Type.Array(nullableString)),
    isCut: Type.Boolean({ description: 'There were more rows than the limit' }),
    command: Type.String(),
    affected: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
    error: Type.Union([
      Type.Object({
        code: Type.String({ description: 'SQLSTATE' }),
        message: Type.String(),
        position: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
      }),
      Type.Null(),
    ]),
  },
  { title: 'queryResult' },
)

export const runQuery = operation({
  name: 'runQuery',
  clause: 'MASK-204',
  summary: 'Run one statement through the gateway under the login role of the caller',
  method: 'POST',
  reads: true,
  path: `${databasePath}/query`,
  apiVersions: ownApiVersions,
  permission: { anyCaller: 'the gateway lets in the callers alone that a database role is mapped to' },
  body: queryInput,
  answers: { 200: queryAnswer },
  errors: [403],

  async run({ params, body, caller, tx, ports, request, confirm }) {
    const place = readDatabasePlace(params)
    // One answer whether there is no such database or no role for the caller: it tells no names.
    const refuse = (): never =>
      fail('AuthorizationFailed', {
        client: caller.applicationId,
        objectId: caller.objectId,
        action: queryAction,
        scope: scopeOf(params),
      })
    const database = await findDatabase(tx, caller.tenantId, place)
    if (!database?.gatewayName) return refuse()
    // The gateway asks the database, which may be down: its answer would then tell that there is one.
    const requireMapping = async () => {
      const groups = await ports.principals.groupsOf(caller.tenantId, caller.objectId)
      if (!(await isMapped(tx, database.id, [caller.objectId, ...groups]))) refuse()
    }
    await requireMapping()
    const outcome = await ports.runQuery(caller, {
      database: database.gatewayName,
      token: request.token,
      sql: body.sql,
      isReadOnly: body.isReadOnly ?? true,
      rowLimit: body.rowLimit ?? usual.rows,
      timeoutMs: (body.timeoutSeconds ?? usual.seconds) * 1000,
      signal: request.signal,
    })
    if (outcome === 'loginRefused') return refuse()
    const relations = outcome.columns.map(({ relation }) => relation).filter((relation) => relation > 0)
    const look = lookInto(database, () => Promise.all([confirm(), requireMapping()]))
    const twins = relations.length > 0 ? await ports.inspection.findTwins(look, relations) : []
    const rules = twins.length > 0 ? await ruleRows.list(tx, database.id) : []
    const columns = outcome.columns.map(({ name, relation, position }) => {
      const column = twins.find((twin) => twin.relation === relation && twin.position === position)
      const isMasked = rules.some(
        (rule) =>
          column !== undefined &&
          rule.schemaName === column.schema &&
          rule.tableName === column.table &&
          rule.columnName === column.column,
      )
      return { name, isMasked }
    })
    return ok({ ...outcome, columns })
  },
})

async function isMapped(tx: Query, databaseId: string, principalIds: readonly string[]): Promise<boolean> {
  const mapped = await tx`
    select from role_mapping
    where database_id = ${databaseId} and principal_id = any(${[...principalIds]}::uuid[]) limit 1`
  return mapped.count > 0
}
