import type { Database } from '../../db/database.ts'
import { fail } from '../../kernel/problem.ts'
import type { Exposure } from '../exposures/exposure.ts'
import { findExposures } from '../exposures/find-exposures.ts'
import type { Claimant } from '../guard/claim.ts'
import { findImpact } from '../impact/find-impact.ts'
import type { Impact } from '../impact/impact.ts'
import type { Policy, Proposal } from '../policy.ts'
import { type ColumnPlace, type Recommendation, recommend } from '../recommendations/recommend.ts'
import { explainFailure } from '../states/explain-failure.ts'
import {
  browseColumns,
  browseTables,
  type ColumnEntry,
  type FoundColumn,
  findColumns,
  findTwins,
  type TableEntry,
  type TablesWanted,
  type TwinColumn,
} from './browse.ts'
import { browseRoles, type RolesPage, type RolesWanted } from './browse-roles.ts'
import { LookQueue } from './look-queue.ts'
import { type draftRefused, type Preview, type PreviewRequest, preview } from './preview.ts'

export interface InspectorOptions {
  /** Null: the database is not bound (any more). */
  connect(databaseId: string): Promise<Database | null>
  /** The policy, or a proposed one, with principals resolved to roles. */
  readPolicy(databaseId: string, proposed?: Proposal): Promise<Policy>
  claimantOf(databaseId: string): Claimant
}

/** Looks into masked databases for people, and changes nothing there. */
export function createInspector({ connect, readPolicy, claimantOf }: InspectorOptions) {
  const queue = new LookQueue()
  const look = <T>(databaseId: string, run: (database: Database) => Promise<T>) =>
    queue.run(databaseId, () => lookNow(databaseId, run))

  /** Explains failures of the masked database by kind alone, and never with a value. */
  async function lookNow<T>(databaseId: string, run: (database: Database) => Promise<T>): Promise<T> {
    const database = await connect(databaseId)
    if (!database) fail('BoundDatabaseUnusable', { reason: 'it is not bound any more' })
    try {
      return await run(database)
    } catch (error) {
      const { reason } = explainFailure(error)
      return fail('BoundDatabaseUnusable', { reason }, { cause: error })
    }
  }
  return {
    browseTables: (databaseId: string, wanted: TablesWanted): Promise<TableEntry[]> =>
      look(databaseId, (database) => browseTables(database, wanted)),

    findColumns: (databaseId: string, search: string, limit: number): Promise<FoundColumn[]> =>
      look(databaseId, (database) => findColumns(database, search, limit)),

    browseColumns: (databaseId: string, schema: string, table: string): Promise<ColumnEntry[]> =>
      look(databaseId, (database) => browseColumns(database, schema, table)),

    browseRoles: (databaseId: string, wanted: RolesWanted): Promise<RolesPage | null> =>
      look(databaseId, (database) => browseRoles(database, () => readPolicy(databaseId), wanted)),

    findTwins: (databaseId: string, relations: readonly number[]): Promise<TwinColumn[]> =>
      look(databaseId, (database) => findTwins(database, relations)),

    findExposures: (databaseId: string): Promise<Exposure[]> =>
      look(databaseId, (database) =>
        findExposures(database, () => readPolicy(databaseId), claimantOf(databaseId)),
      ),

    findImpact: (databaseId: string, proposed: Proposal): Promise<Impact> =>
      look(databaseId, (database) =>
        findImpact(database, () => readPolicy(databaseId, proposed), claimantOf(databaseId)),
      ),

    recommend: (databaseId: string, ruled: readonly ColumnPlace[]): Promise<Recommendation[]> =>
      look(databaseId, (database) => recommend(database, ruled)),

    preview: (databaseId: string, request: PreviewRequest): Promise<Preview | typeof draftRefused | null> =>
      look(databaseId, (database) => preview(database, request)),
  }
}
