import type { Logger } from 'pino'
import type { Database } from '../db/database.ts'
import type { Connections } from './connections.ts'
import { findNeighbours } from './logins/find-neighbours.ts'
import type { LoginKeys, Logins } from './logins/logins.ts'
import type { PolicyReader } from './policy-reader.ts'

interface Options {
  readonly policies: PolicyReader
  readonly connections: Connections
  readonly logins: Logins
  readonly keys: LoginKeys
  readonly log: Logger
  audit(databaseId: string): void
}

/**
 * Login roles of other databases of the server lose a role before it becomes exempt here: a person could connect to this
 * database with it. A neighbour that cannot be reached does not keep this database from its policy.
 */
export function createNeighbourWarning({ policies, connections, logins, keys, log, audit }: Options) {
  return async (database: Database, databaseId: string): Promise<void> => {
    const roles = await policies.recordNewlyExempt(database.sql, databaseId)
    if (roles.length === 0) return
    for (const id of await findNeighbours(database.sql, roles, databaseId, keys))
      try {
        const neighbour = await connections.openFit(id)
        if (neighbour) await logins.settle(neighbour, id)
        audit(id)
      } catch (err) {
        log.warn(
          { databaseId: id, err },
          'login roles could not be kept from a role that is exempt elsewhere',
        )
      }
  }
}
