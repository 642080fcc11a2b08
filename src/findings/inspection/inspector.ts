import type {
  ColumnPlace,
  Look,
  PreviewRequest,
  RolesWanted,
  TablesWanted,
} from '../../contracts/inspection.ts'
import type { Database } from '../../db/database.ts'
import type { Sql } from '../../db/sql.ts'
import type { Tx } from '../../db/transaction.ts'
import { FewAtOnce } from '../../kernel/few-at-once.ts'
import { fail } from '../../kernel/problem.ts'
import type { Statement } from '../../masks/model.ts'
import type { Policy, Proposal, Rule } from '../../masks/policy.ts'
import type { Claimant } from '../../masks/read/claim.ts'
import { findExposures } from '../exposures/find-exposures.ts'
import { findImpact } from '../impact/find-impact.ts'
import { recommend } from '../recommendations/recommend.ts'
import { explainFailure } from '../turns/explain-failure.ts'
import { browseColumns, browseTables, findColumns, findTwins } from './browse.ts'
import { browseRoles } from './browse-roles.ts'
import { glance } from './ordinary-tables.ts'
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

/** Explains failures of the masked database by kind alone, and never with a value. */
const refuse = (error: unknown) =>
  fail('BoundDatabaseUnusable', { reason: explainFailure(error).reason }, { cause: error })

/** Looks into masked databases for people, and changes nothing there. */
export function createInspector({ connect, readPolicy, plan, claimantOf }: InspectorOptions) {
  const queue = new FewAtOnce(mostLooks, mostWaiting)

  /** MASK-240: a right that was revoked while the look waited or ran must not be used. */
  const look = <A, T>({ databaseId, admit }: Look<A>, run: (database: Database, admitted: A) => Promise<T>) =>
    queue.run(databaseId, async () => {
      const admitted = await admit()
      const database = await connect(databaseId)
      if (!database) fail('BoundDatabaseUnusable', { reason: 'it is not bound any more' })
      const found = await run(database, admitted).catch(refuse)
      await admit()
      return found
    })
  const glanceAt = <T>(into: Look, run: (tx: Tx) => Promise<T>) =>
    look(into, (database) => glance(database, run))
  const readOwn =
    ({ databaseId }: Look, proposed?: Proposal) =>
    (sql: Sql) =>
      readPolicy(databaseId, proposed, sql)
  return {
    /** For looks of other rooms. */
    look,
    browseTables: (into: Look, wanted: TablesWanted) => glanceAt(into, (tx) => browseTables(tx, wanted)),
    findColumns: (into: Look, search: string, limit: number) =>
      glanceAt(into, (tx) => findColumns(tx, search, limit)),
    browseColumns: (into: Look, schema: string, table: string) =>
      glanceAt(into, (tx) => browseColumns(tx, schema, table)),
    browseRoles: (into: Look, wanted: RolesWanted) =>
      look(into, async (database) => {
        const policy = await readOwn(into)(database.sql)
        return glance(database, (tx) => browseRoles(tx, policy, wanted))
      }),
    findTwins: (into: Look, relations: readonly number[]) => glanceAt(into, (tx) => findTwins(tx, relations)),
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
