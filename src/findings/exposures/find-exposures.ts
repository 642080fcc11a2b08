import type { Exposure } from '../../contracts/inspection.ts'
import type { Database } from '../../db/database.ts'
import { readConsistently } from '../../db/read-consistently.ts'
import type { Claimant } from '../../masks/read/claim.ts'
import { type PolicySource, takeTurn } from '../../masks/turn.ts'
import { catalogKinds } from './catalogs.ts'
import { codeKinds } from './code.ts'
import { findConsequences } from './consequences.ts'
import { copyKinds } from './copies.ts'
import { type ExposureKind, type Findings, kind } from './exposure.ts'
import { type Scene, setScene } from './scene.ts'

const everybodyExempt = kind<object>({
  code: 'EverybodyExempt',
  severity: 'high',
  meaning: 'the policy exempts `public`',
  read: ({ listed }) => (listed.some((name) => name.toLowerCase() === 'public') ? [{}] : []),
  describe: (_, { masked }) => ({
    objects: masked.filter(({ hasRules }) => hasRules),
    explanation: [
      "The policy exempts 'public', which is every role: no role sees masks.",
      "Take 'public' out of the exempt principals.",
    ],
  }),
})

/** Every kind of way around a mask that is looked for. */
export const exposureKinds: readonly ExposureKind[] = [
  everybodyExempt,
  ...codeKinds,
  ...copyKinds,
  ...catalogKinds,
]

const order = { high: 0, medium: 1, low: 2 }

/** The ways around the masks of a policy that are open now, the worst first. A database without masks has none. */
export async function findExposures(
  database: Database,
  policy: PolicySource,
  claimant?: Claimant,
): Promise<Exposure[]> {
  const result = await takeTurn(database, policy, { dryRun: true, ...(claimant && { claimant }) })
  if (result.policy.rules.length === 0) return []
  return readConsistently(database, async (sql) => {
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
  if ((row.oid !== undefined && !relation) || (row.keys && !column) || row.roles?.length === 0) return []
  const resolved = { relation, column, ...row }
  const found = describe(resolved, scene)
  const remedy = found.remedy ?? null
  return [
    {
      ...{ code, severity: found.severity ?? severity, explanation: found.explanation.join(' ') },
      objects: found.objects.map(({ kind, name }) => ({ kind, name })),
      roles: found.roles ?? row.roles ?? [],
      ...{ remedy, consequences: findConsequences(remedy), rule: found.rule ?? null },
    },
  ]
}
