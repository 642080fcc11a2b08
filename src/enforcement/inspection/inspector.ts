import type { Database } from '../../db/database.ts'
import type { Sql } from '../../db/sql.ts'
import { fail } from '../../kernel/problem.ts'
import type { Exposure } from '../exposures/exposure.ts'
import { findExposures } from '../exposures/find-exposures.ts'
import { FewAtOnce } from '../few-at-once.ts'
import type { Claimant } from '../guard/claim.ts'
import { findImpact } from '../impact/find-impact.ts'
import type { Impact } from '../impact/impact.ts'
import type { Step } from '../plan.ts'
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
import { type draftRefused, type Preview, type PreviewRequest, preview } from './preview.ts'

const mostLooks = 2
const mostWaiting = 20

export interface InspectorOptions {
  /** Null: the database is not bound (any more). */
  connect(databaseId: string): Promise<Database | null>
  /** The policy, or a proposed one, with principals resolved to roles. */
  readPolicy(databaseId: string, proposed: Proposal | undefined, sql: Sql): Promise<Policy>
  /** The dry run of a turn. */
  plan(databaseId: string): Promise<readonly Step[]>
  claimantOf(databaseId: string): Claimant
}

interface Look<Admitted = unknown> {
  readonly databaseId: string
  /** Rejects when the caller may not look any more. */
  readonly admit: () => Promise<Admitted>
}

/** Looks into masked databases for people, and changes nothing there. */
export function createInspector({ connect, readPolicy, plan, claimantOf }: InspectorOptions) {
  const queue = new FewAtOnce(mostLooks, mostWaiting)

  /** MASK-240: a right that was revoked while the look waited or ran must not be used. */
  const look = <A, T>({ databaseId, admit }: Look<A>, run: (database: Database, admitted: A) => Promise<T>) =>
    queue.run(databaseId, async () => {
      const admitted = await admit()
      const found = await lookNow(databaseId, (database) => run(database, admitted))
      await admit()
      return found
    })

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
    browseTables: (into: Look, wanted: TablesWanted): Promise<TableEntry[]> =>
      look(into, (database) => browseTables(database, wanted)),

    findColumns: (into: Look, search: string, limit: number): Promise<FoundColumn[]> =>
      look(into, (database) => findColumns(database, search, limit)),

    browseColumns: (into: Look, schema: string, table: string): Promise<ColumnEntry[]> =>
      look(into, (database) => browseColumns(database, schema, table)),

    browseRoles: (into: Look, wanted: RolesWanted): Promise<RolesPage | null> =>
      look(into, (database) =>
        browseRoles(database, (sql) => readPolicy(into.databaseId, undefined, sql), wanted),
      ),

    findTwins: (into: Look, relations: readonly number[]): Promise<TwinColumn[]> =>
      look(into, (database) => findTwins(database, relations)),

    findExposures: (into: Look): Promise<Exposure[]> =>
      look(into, (database) =>
        findExposures(
          database,
          (sql) => readPolicy(into.databaseId, undefined, sql),
          claimantOf(into.databaseId),
        ),
      ),

    findImpact: (into: Look, proposed: Proposal): Promise<Impact> =>
      look(into, (database) =>
        findImpact(
          database,
          (sql) => readPolicy(into.databaseId, proposed, sql),
          claimantOf(into.databaseId),
        ),
      ),

    plan: (into: Look): Promise<readonly Step[]> => look(into, () => plan(into.databaseId)),

    recommend: (into: Look, ruled: readonly ColumnPlace[]): Promise<Recommendation[]> =>
      look(into, (database) => recommend(database, ruled)),

    preview: (into: Look<PreviewRequest>): Promise<Preview | typeof draftRefused | null> =>
      look(into, preview),
  }
}
