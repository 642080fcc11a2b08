import type { Database } from '../../db/database.ts'
import { quoteQualified } from '../../db/quote.ts'
import type { Relation } from '../catalog.ts'
import type { Claimant } from '../guard/claim.ts'
import type { Policy } from '../policy.ts'
import { type Outcome, reconcile } from '../reconcile.ts'
import { bypassRowSecurity } from './bypass-row-security.ts'
import { defaultPrivileges } from './default-privileges.ts'
import { definerFunctions } from './definer-functions.ts'
import { everybodyExempt, exemptMember } from './exempt-members.ts'
import type { Exposure, ExposureClass, MaskedRelation, Scene } from './exposure.ts'
import { foreignTables } from './foreign-tables.ts'
import { notMasked } from './not-masked.ts'
import { foreignKeyOracle, uniqueOracle } from './oracles.ts'
import { tableOwner, twinOwnerMember } from './owners.ts'
import { predefinedRoles } from './predefined-roles.ts'
import { publications } from './replication.ts'
import { roleAttributes } from './role-attributes.ts'
import { readRoleBook } from './role-book.ts'
import { rowPolicies } from './row-policies.ts'
import { sameValues } from './same-values.ts'
import { serverFunctions } from './server-functions.ts'
import { extendedStatistics, partitionBounds } from './statistics.ts'
import { tableGrants } from './table-grants.ts'
import { rewriteRules, triggers } from './triggers-and-rules.ts'

/** Every class of ways around a mask that is looked for. */
export const exposureClasses: readonly ExposureClass[] = [
  everybodyExempt,
  notMasked,
  ...roleAttributes,
  ...predefinedRoles,
  tableOwner,
  twinOwnerMember,
  exemptMember,
  bypassRowSecurity,
  ...tableGrants,
  definerFunctions,
  ...sameValues,
  triggers,
  rewriteRules,
  uniqueOracle,
  foreignKeyOracle,
  foreignTables,
  publications,
  rowPolicies,
  defaultPrivileges,
  serverFunctions,
  extendedStatistics,
  partitionBounds,
]

const order = { high: 0, medium: 1, low: 2 }
const statementTimeoutMs = 20_000

/** The ways around the masks of a policy that are open now, the worst first. A database without masks has none. */
export async function findExposures(
  database: Database,
  policy: Policy | (() => Promise<Policy>),
  claimant?: Claimant,
): Promise<Exposure[]> {
  const outcome = await reconcile(database, policy, { dryRun: true, ...(claimant && { claimant }) })
  if (outcome.policy.rules.length === 0) return []
  return database.transaction(async (sql) => {
    await sql.unsafe(
      `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL statement_timeout = ${statementTimeoutMs}`,
    )
    const scene = await setScene(sql, outcome)
    const found: Exposure[] = []
    for (const { find } of exposureClasses) found.push(...(await find(scene)))
    return found.sort((a, b) => order[a.severity] - order[b.severity])
  })
}

async function setScene(sql: Scene['sql'], { snapshot, desired, policy }: Outcome): Promise<Scene> {
  const { version, user: self } = snapshot
  const { twinOwner } = desired
  const affected = new Set(desired.masked.map(({ relation }) => relation.oid))
  const masked = desired.masked.map(({ relation, pins }): MaskedRelation => {
    const pinned = new Set(pins.map(({ number }) => number))
    // A view over something masked is hidden as a whole.
    const isWhole = relation.definition !== null && relation.reads.some((oid) => affected.has(oid))
    return describeRelation(relation, (number) => isWhole || pinned.has(number))
  })
  const book = await readRoleBook(sql, {
    version,
    self,
    twinOwner,
    exempt: new Set(desired.exempt),
    listed: policy.exemptRoles.filter((name) => snapshot.roles.has(name) || name.toLowerCase() === 'public'),
  })
  return {
    sql,
    version,
    self,
    twinOwner,
    masked,
    byOid: new Map(masked.map((one) => [one.oid, one])),
    unmanaged: snapshot.relations.filter(isUnmanaged(policy)).map((one) => describeRelation(one, () => true)),
    book,
  }
}

function describeRelation(relation: Relation, isHidden: (number: number) => boolean): MaskedRelation {
  return {
    oid: relation.oid,
    kind: relation.kind,
    name: quoteQualified(relation.schema, relation.name),
    bareName: relation.name,
    owner: relation.owner,
    hidden: relation.columns
      .filter(({ number }) => isHidden(number))
      .map(({ number, name }) => ({ number, name })),
    holdsData: relation.kind !== 'view',
    hasRules: relation.definition === null,
  }
}

/** A rule names it, and the role of the binding may not do anything to it. */
function isUnmanaged({ rules }: Policy) {
  return ({ schema, name, managed, definition }: Relation) =>
    managed === 'not' &&
    definition === null &&
    rules.some((rule) => rule.schema === schema && rule.table === name)
}
