import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { lookInto, noImpact } from '../enforcement/inspection.ts'
import { operation, ownApiVersions, withEnforcement } from '../operation.ts'
import { databasePath, idOf, readDatabasePlace, scopeOf } from '../place.ts'
import { renderPolicy } from '../policy/policy.ts'
import { auditChange, siteOf } from '../resource.ts'
import { requireRole } from '../role-assignments/confirm-role.ts'
import { mappingKind, mappingRows, renderMapping } from '../role-mappings/mapping.ts'
import { nullableString } from '../schemas.ts'
import { findDatabase } from './database-row.ts'

const policyAction = 'Vendor.Sql/servers/databases/dataMaskingPolicies/write'
const action = 'Vendor.Sql/servers/databases/write'

const restoreAnswer = Type.Object({
  mappings: Type.Array(Type.String()),
  statements: Type.Array(Type.Object({ sql: Type.String(), why: Type.String() })),
  state: Type.String(),
  reason: nullableString,
  left: Type.Array(
    Type.Object({
      kind: Type.String(),
      name: Type.String(),
      statement: Type.String({ description: 'Removes it, where the role of the binding may not' }),
      isHarmless: Type.Boolean(),
    }),
    { description: 'What of this service is in the database and on its server' },
  ),
})

export const restoreDatabase = operation({
  name: 'restoreDatabase',
  clause: 'MASK-142',
  summary:
    'Turn the policy off, delete the role mappings, and remove everything of this service from the database',
  method: 'POST',
  path: `${databasePath}/restore`,
  apiVersions: ownApiVersions,
  permission: { action, scope: scopeOf },
  query: Type.Object({
    dryRun: Type.Optional(Type.String({ description: '`true`: say what would be done, and do nothing' })),
  }),
  answers: { 200: restoreAnswer },

  /** The plan of a dry run. */
  async prepare({ params, query, caller, tx, ports, confirm }) {
    const database = await findDatabase(tx, caller.tenantId, readDatabasePlace(params))
    if (!database?.bound || query.dryRun !== 'true') return null
    const { statements } = await ports.inspection.findImpact(lookInto(database, confirm), {
      rules: [],
      exempt: [],
    })
    const left = await ports.enforcement.findLeftovers(database.id)
    const { state, reason } = await ports.enforcement.report(database.id)
    const mappings = await mappingRows.list(tx, database.id)
    return { mappings: mappings.map(({ name }) => name), statements, state, reason, left }
  },

  async run(context, planned) {
    const site = siteOf(context)
    const { tx, tenantId, ports } = site
    const place = readDatabasePlace(site.params)
    const database = await findDatabase(tx, tenantId, place, true)
    await requireRole(site, action)
    if (!database) fail('ResourceNotFound', { id: idOf(place, site.namespace) })
    const nothing = { mappings: [], statements: [], left: [], state: 'NotBound', reason: null }
    if (planned) return withEnforcement(ok(planned), database, ports, false)
    if (!database.bound) return withEnforcement(ok(nothing), database, ports, false)
    const all = { after: '', limit: 0, filter: undefined }
    const mappings = await mappingKind.list(site, database, all)
    for (const mapping of mappings)
      auditChange(context.audit, `${mappingKind.action}/delete`, renderMapping, mapping, undefined)
    await tx`delete from role_mapping where database_id = ${database.id}`
    if (database.policyState !== 'Disabled') {
      await tx`
        update masked_database set policy_state = 'Disabled', policy_state_chosen = true,
          policy_version = nextval('resource_version') where id = ${database.id}`
      const after = { ...database, policyState: 'Disabled' as const }
      auditChange(context.audit, policyAction, renderPolicy, database, after)
    }
    const lateBody = async () => ({
      mappings: mappings.map(({ name }) => name),
      statements: noImpact.statements,
      ...(await ports.enforcement.restore(database.id)),
    })
    return { ...withEnforcement(ok(nothing), database, ports, true), lateBody }
  },
})
