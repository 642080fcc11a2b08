import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { reportOf } from '../enforcement/enforcement.ts'
import { entityTag } from '../entity-tag.ts'
import { databaseApiVersions, operation, withEnforcement } from '../operation.ts'
import { databasePath, idOf, readDatabasePlace, scopeOf } from '../place.ts'
import { siteOf } from '../resource.ts'
import { databaseAnswer, renderDatabase } from './database.ts'
import { findDatabase } from './database-row.ts'

export const getDatabase = operation({
  name: 'getDatabase',
  clause: 'MASK-107',
  summary: 'Get a database with its binding, but for the password, and the state of enforcement',
  method: 'GET',
  path: databasePath,
  apiVersions: databaseApiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/read', scope: scopeOf },
  answers: { 200: databaseAnswer },

  async run(context) {
    const { params, tenantId, namespace, apiVersion, tx, ports } = siteOf(context)
    const place = readDatabasePlace(params)
    const database = await findDatabase(tx, tenantId, place)
    if (!database) fail('ResourceNotFound', { id: idOf(place, namespace) })
    const enforcement = await reportOf(database, ports.enforcement)
    const shown = renderDatabase(database, namespace, apiVersion)
    const body = { ...shown, properties: { ...shown.properties, enforcement } }
    return withEnforcement(ok(body, entityTag(database.version)), database, ports, false)
  },
})
