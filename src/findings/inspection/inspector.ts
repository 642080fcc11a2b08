import type {
  ColumnPlace,
  Look,
  PreviewRequest,
  RolesWanted,
  TablesWanted,
} from '../../contracts/inspection.ts'
import type { Database } from '../../db/database.ts'
import type { Sql } from '../../db/sql.ts'
import { FewAtOnce } from '../../kernel/few-at-once.ts'
import { fail } from '../../kernel/problem.ts'
import { explainFailure } from '../../masks/explain-failure.ts'
import type { Statement } from '../../masks/model.ts'
import type { Policy, Proposal, Rule } from '../../masks/policy.ts'
import type { Claimant } from '../../masks/read/claim.ts'
import { findExposures } from '../exposures/find-exposures.ts'
import { findImpact } from '../impact/find-impact.ts'
import { recommend } from '../recommendations/recommend.ts'
import { browseColumns, browseTables, findColumns, findTwins } from './browse.ts'
import { browseRoles } from './browse-roles.ts'
import { preview } from './preview.ts'

const mostLooks = 2
const mostWaiting = 20

export interface InspectorOptions {
  /** Null: the database is not bound (any more). */
  connect(databaseId: string): Promise<Database | null>
  /** The policy, or a proposed one, with principals resolved to roles. */
  readPolicy(databaseId: string, proposed: Proposal | undefined, sql: Sql): Promise<Policy>
  /** The dry run of a turn. */
  plan(databaseId: string): Promise<readonly Statement[]>
  claimantOf(databaseId: string): Claimant
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
  const readOwn =
    ({ databaseId }: Look, proposed?: Proposal) =>
    (sql: Sql) =>
      readPolicy(databaseId, proposed, sql)
  return {
    /** For looks of other rooms. */
    look,
    browseTables: (into: Look, wanted: TablesWanted) =>
      look(into, (database) => browseTables(database, wanted)),
    findColumns: (into: Look, search: string, limit: number) =>
      look(into, (database) => findColumns(database, search, limit)),
    browseColumns: (into: Look, schema: string, table: string) =>
      look(into, (database) => browseColumns(database, schema, table)),
    browseRoles: (into: Look, wanted: RolesWanted) =>
      look(into, (database) => browseRoles(database, readOwn(into), wanted)),
    findTwins: (into: Look, relations: readonly number[]) =>
      look(into, (database) => findTwins(database, relations)),
    findExposures: (into: Look) =>
      look(into, (database) => findExposures(database, readOwn(into), claimantOf(into.databaseId))),
    findImpact: (into: Look, proposed: Proposal) =>
      look(into, (database) => findImpact(database, readOwn(into, proposed), claimantOf(into.databaseId))),
    plan: (into: Look) => look(into, () => plan(into.databaseId)),
    recommend: (into: Look, ruled: readonly ColumnPlace[]) =>
      look(into, (database) => recommend(database, ruled)),
    preview: (into: Look<PreviewRequest<Rule>>) => look(into, preview),
  }
}
