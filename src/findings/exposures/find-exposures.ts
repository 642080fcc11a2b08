import type { Exposure } from '../../contracts/inspection.ts'
import type { Database } from '../../db/database.ts'
import { quoteQualified } from '../../db/quote.ts'
import type { Relation } from '../../masks/model.ts'
import type { Claimant } from '../../masks/read/claim.ts'
import { readRoles } from '../../masks/read/roles.ts'
import { listExemptNames } from '../../masks/read/snapshot.ts'
import { type PolicySource, type TurnResult, takeTurn } from '../../masks/turn.ts'
import { accessKinds } from './access.ts'
import { findMaskedGrantees } from './acl-entries.ts'
import { catalogKinds } from './catalogs.ts'
import { codeKinds } from './code.ts'
import { findConsequences } from './consequences.ts'
import { copyKinds } from './copies.ts'
import type { ExposureKind, Findings, MaskedRelation, Scene } from './exposure.ts'
import { rowPolicy } from './policies.ts'
import { createKeepers } from './revoke-remedy.ts'
import { makeRoleBook } from './role-book.ts'
import { readRoutines } from './routines.ts'

/** Every kind of way around a mask that is looked for. */
export const exposureKinds: readonly ExposureKind[] = [
  ...accessKinds,
  ...codeKinds,
  ...copyKinds,
  ...catalogKinds,
  rowPolicy,
]

const order = { high: 0, medium: 1, low: 2 }

/** JIT compiles for seconds what catalogs answer in milliseconds: estimates of recursion are high. */
export const begin = `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;
  SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL jit = off;
  SET LOCAL statement_timeout = 20000; SET LOCAL lock_timeout = 100`

/** The ways around the masks of a policy that are open now, the worst first. A database without masks has none. */
export async function findExposures(
  database: Database,
  policy: PolicySource,
  claimant?: Claimant,
): Promise<Exposure[]> {
  const result = await takeTurn(database, policy, { dryRun: true, ...(claimant && { claimant }) })
  if (result.policy.rules.length === 0) return []
  return database.transaction(async (sql) => {
    await sql.unsafe(begin)
    const scene = await setScene(sql, result)
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
      explanation: found.explanation.join(' '),
      remedy: found.remedy ?? null,
      consequences: findConsequences(found.remedy ?? null),
      rule: found.rule ?? null,
    },
  ]
}

/** The database as the policy would mask it, for those who look for ways around and for consequences. */
export async function setScene(
  sql: Scene['sql'],
  { snapshot, plan, policy }: Pick<TurnResult, 'snapshot' | 'plan' | 'policy'>,
): Promise<Scene> {
  const { version, binding } = snapshot.server
  const self = binding.name
  const twinOwners = [
    ...new Set([
      ...snapshot.twinOwners.map(({ name }) => name),
      ...plan.masked.flatMap(({ twin }) => (twin?.by === 'itself' ? [twin.owner] : [])),
    ]),
  ]
  const roles = await readRoles(sql, version)
  const exempt = snapshot.exempt.everybody ? [...roles.keys()] : listExemptNames(snapshot)
  const masked = plan.masked.map(({ relation, hidden }) => describeRelation(relation, hidden))
  const book = makeRoleBook(roles, {
    ours: [self, ...twinOwners],
    exempt: new Set(exempt),
    listed: policy.exemptRoles.filter((name) => roles.has(name) || name.toLowerCase() === 'public'),
    owners: masked.filter(({ holdsData }) => holdsData).map(({ owner }) => owner),
  })
  const columns = masked.flatMap(({ oid, hidden }) => hidden.map(({ number }) => ({ oid, number })))
  return {
    ...{ sql, version, self, twinOwners, masked, book },
    routines: await readRoutines({ sql, version, book }),
    oids: masked.map(({ oid }) => oid),
    tables: masked.filter(({ hasRules }) => hasRules).map(({ oid }) => oid),
    hidden: { oids: columns.map(({ oid }) => oid), numbers: columns.map(({ number }) => number) },
    byOid: new Map(masked.map((one) => [one.oid, one])),
    unmanaged: plan.unmanaged.map(({ relation, grantees, remedy }) => ({
      ...describeRelation(relation, new Set(relation.columns.map(({ number }) => number))),
      grantees: grantees.map((oid) => (oid === 0 ? null : (snapshot.roleNames.get(oid) ?? String(oid)))),
      remedy,
    })),
    keepersOf: createKeepers(roles, exempt),
  }
}

function describeRelation(relation: Relation, hidden: ReadonlySet<number>): MaskedRelation {
  const { oid, kind, schema, name, ownerName, columns } = relation
  return {
    oid,
    kind,
    name: quoteQualified(schema, name),
    bareName: name,
    owner: ownerName,
    hidden: columns
      .filter(({ number }) => hidden.has(number))
      .map(({ number, name: own }) => ({ number, name: own })),
    holdsData: kind !== 'view',
    hasRules: !kind.endsWith('view'),
  }
}
