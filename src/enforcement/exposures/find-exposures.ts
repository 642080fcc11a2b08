import type { Database } from '../../db/database.ts'
import { quoteQualified } from '../../db/quote.ts'
import type { Relation } from '../catalog.ts'
import type { Claimant } from '../guard/claim.ts'
import type { Outcome, PolicySource } from '../in-turn.ts'
import { reconcile } from '../reconcile.ts'
import { findMaskedGrantees } from './acl-entries.ts'
import { codeGrantKinds } from './code-grants.ts'
import { findConsequences } from './consequences.ts'
import { copyKinds } from './copies.ts'
import { definerArgument } from './definer-argument.ts'
import { definerCode } from './definer-code.ts'
import { definerFunctions } from './definer-functions.ts'
import { definerSearchPath } from './definer-search-path.ts'
import { domainOwner } from './domain-owner.ts'
import type { Exposure, ExposureKind, Findings, MaskedRelation, Scene } from './exposure.ts'
import { failingKeyAction } from './failing-key-actions.ts'
import { failingQuery, failingRefresh } from './failing-refresh.ts'
import { failingReindex } from './failing-reindex.ts'
import { failingRow } from './failing-rows.ts'
import { foreignKeyCode } from './foreign-key-code.ts'
import { grantKinds } from './grants.ts'
import { linkedStatistics } from './linked-statistics.ts'
import { missingValue } from './missing-values.ts'
import { objectKinds } from './objects.ts'
import { oracleKinds } from './oracles.ts'
import { parameterGrant } from './parameter-grants.ts'
import { partitionCode } from './partition-code.ts'
import { policyCode } from './policy-code.ts'
import { policyOracleKinds } from './policy-oracles.ts'
import { printedArgument } from './printed-arguments.ts'
import { printedKey } from './printed-keys.ts'
import { replicationPassword } from './replication-password.ts'
import { readRoleBook } from './role-book.ts'
import { roleKinds } from './roles.ts'
import { routineOwner } from './routine-owner.ts'
import { routineSearchPath } from './routine-search-path.ts'
import { sequenceValues } from './sequence-values.ts'
import { subscriptionCode } from './subscription-code.ts'
import { viewCode } from './view-code.ts'

/** Every kind of way around a mask that is looked for. */
export const exposureKinds: readonly ExposureKind[] = [
  ...roleKinds,
  ...grantKinds,
  parameterGrant,
  replicationPassword,
  ...codeGrantKinds,
  foreignKeyCode,
  partitionCode,
  subscriptionCode,
  policyCode,
  viewCode,
  definerFunctions,
  definerSearchPath,
  routineSearchPath,
  printedArgument,
  definerCode,
  definerArgument,
  ...copyKinds,
  ...objectKinds,
  failingRow,
  failingKeyAction,
  printedKey,
  failingRefresh,
  failingQuery,
  failingReindex,
  sequenceValues,
  linkedStatistics,
  missingValue,
  ...oracleKinds,
  ...policyOracleKinds,
  routineOwner,
  domainOwner,
]

const order = { high: 0, medium: 1, low: 2 }
const statementTimeoutMs = 20_000
/** PostgreSQL locks what an expression reads to print it, and another role may hold a lock there. */
export const lockTimeoutMs = 100

/** The ways around the masks of a policy that are open now, the worst first. A database without masks has none. */
export async function findExposures(
  database: Database,
  policy: PolicySource,
  claimant?: Claimant,
): Promise<Exposure[]> {
  const outcome = await reconcile(database, policy, { dryRun: true, ...(claimant && { claimant }) })
  if (outcome.policy.rules.length === 0) return []
  return database.transaction(async (sql) => {
    // Where the server has it, JIT compiles for seconds what catalogs answer in milliseconds: estimates of recursion are high.
    await sql.unsafe(
      `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL jit = off; SET LOCAL statement_timeout = ${statementTimeoutMs}; SET LOCAL lock_timeout = ${lockTimeoutMs}`,
    )
    const scene = await setScene(sql, outcome)
    const found: Exposure[] = []
    for (const kind of exposureKinds)
      for (const row of await kind.read(scene)) found.push(...describeRow(kind, row, scene))
    return found.sort((a, b) => order[a.severity] - order[b.severity])
  })
}

/** Resolves what the row names, and adds the words. A row that does not resolve is no exposure. */
function describeRow({ code, severity, describe }: ExposureKind, row: Findings, scene: Scene): Exposure[] {
  const relation = row.oid === undefined ? undefined : scene.byOid.get(row.oid)
  const column = relation?.hidden.find(({ number }) => row.keys?.includes(number))
  const owner = row.owner ?? relation?.owner ?? ''
  const grantees = row.acl && findMaskedGrantees(scene, row.acl, owner)
  if ((row.oid !== undefined && !relation) || (row.keys && !column) || grantees === null) return []
  if (row.roles?.length === 0) return []
  const resolved = {
    ...row,
    ...(relation && { relation }),
    ...(column && { column }),
    ...(grantees && { grantees }),
  }
  const found = describe(resolved, scene)
  return [
    {
      code,
      severity: found.severity ?? severity,
      objects: found.objects.map(({ kind, name }) => ({ kind, name })),
      roles: found.roles ?? row.roles ?? grantees?.roles ?? [],
      explanation: found.explanation,
      remedy: found.remedy ?? null,
      consequences: findConsequences(found.remedy ?? null),
      rule: found.rule ?? null,
    },
  ]
}

/** The database as the policy would mask it, for those who look for ways around and for consequences. */
export async function setScene(sql: Scene['sql'], { snapshot, desired, policy }: Outcome): Promise<Scene> {
  const { version, user: self } = snapshot
  const twinOwners = desired.owners.map(({ name }) => name)
  const affected = new Set(desired.masked.map(({ relation }) => relation.oid))
  const masked = desired.masked.map(({ relation, pins }): MaskedRelation => {
    const pinned = new Set(pins.map(({ number }) => number))
    // A view over something masked is hidden as a whole.
    const isWhole =
      relation.definition !== null && (pinned.has(0) || relation.reads.some((oid) => affected.has(oid)))
    return describeRelation(relation, (number) => isWhole || pinned.has(number))
  })
  const book = await readRoleBook(sql, {
    version,
    self,
    twinOwners,
    exempt: new Set(desired.exempt),
    listed: policy.exemptRoles.filter((name) => snapshot.roles.has(name) || name.toLowerCase() === 'public'),
  })
  return {
    sql,
    version,
    self,
    twinOwners,
    masked,
    oids: masked.map(({ oid }) => oid),
    tables: masked.filter(({ hasRules }) => hasRules).map(({ oid }) => oid),
    byOid: new Map(masked.map((one) => [one.oid, one])),
    unmanaged: desired.unclosed.map(({ relation, grantees }) => ({
      ...describeRelation(relation, () => true),
      grantees,
    })),
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
    columns: relation.columns.map(({ number, name }) => ({ number, name })),
    holdsData: relation.kind !== 'view',
    hasRules: relation.definition === null,
  }
}
