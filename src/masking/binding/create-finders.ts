import type { Query } from '../../db/query.ts'
import { findBound, type Locator } from './find-bound.ts'
import { findPlaces } from './find-places.ts'
import { findUnbound } from './find-unbound.ts'

/** Databases as the gateway asks for them. */
export function createFinders(
  sql: Query,
  locator: Locator,
  tenantId: string,
  { gatewayUnbound }: { readonly gatewayUnbound: boolean },
) {
  return {
    findDatabases: (name: string) => findBound(sql, locator, tenantId, name),
    findUnbound: async (name: string) =>
      gatewayUnbound ? await findUnbound(sql, locator, tenantId, name) : [],
    findPlaces: (ids: readonly string[]) => findPlaces(sql, tenantId, ids),
    findPrimary: locator.findPrimary,
  }
}
