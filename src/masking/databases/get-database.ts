import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { entityTag } from '../entity-tag.ts'
import { namespaceOfRequest, operation, resourceApiVersions, withEnforcement } from '../operation.ts'
import { databasePath, idOf, readDatabasePlace, scopeOf } from '../place.ts'
import { databaseAnswer, renderDatabase } from './database.ts'
import { findDatabase } from './database-row.ts'

export const getDatabase = operation({
  name: 'getDatabase',
  clause: 'MASK-107',
  summary: 'Get a database with its binding, but for the password, and the state of enforcement',
  method: 'GET',
  path: databasePath,
  apiVersions: resourceApiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/read', scope: scopeOf },
  answers: { 200: databaseAnswer },

  async run({ params, caller, tx, request, ports }) {
    const place = readDatabasePlace(params)
    const namespace = namespaceOfRequest({ request, ports })
    const database = await findDatabase(tx, caller.tenantId, place)
    if (!database) fail('ResourceNotFound', { id: idOf(place, namespace) })
    const enforcement = database.bound
      ? await ports.enforcement.report(database.id)
      : { state: 'NotBound', reason: 'The database is not bound to a PostgreSQL database.' }
    const shown = renderDatabase(database, namespace)
    const answer = ok(
      { ...shown, properties: { ...shown.properties, enforcement } },
      entityTag(database.version),
    )
    return withEnforcement(answer, database, ports, false)
  },
})
