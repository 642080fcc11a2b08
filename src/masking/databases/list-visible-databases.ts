import { type Static, Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { scopesAllowing } from '../../auth/role-assignments.ts'
import type { EnforcementReport } from '../../contracts/enforcement.ts'
import type { Query } from '../../db/query.ts'
import { describePlaces } from '../binding/binding-address.ts'
import { readContained } from '../enforcement/contained-counts.ts'
import { earlierFindings, selectEarlierFindings } from '../enforcement/counted-findings.ts'
import { reportOf, stateField } from '../enforcement/enforcement.ts'
import { operation, ownApiVersions } from '../operation.ts'
import { decodeSkipToken, encodeSkipToken, keyRange, nextLink } from '../page.ts'
import { idOf, keyOf } from '../place.ts'
import { siteOf } from '../resource.ts'
import { nullableString, oneOf } from '../schemas.ts'
import { type DatabaseRow, selectDatabases } from './database-row.ts'

const action = 'Vendor.Sql/servers/databases/read'
const pageSize = 1000

const visibleDatabase = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    properties: Type.Object({
      subscriptionId: Type.String(),
      resourceGroupName: Type.String(),
      serverName: Type.String(),
      gatewayName: nullableString,
      boundTo: Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: 'host:port/database of the binding; null while it is not bound',
      }),
      dataMaskingState: oneOf(['Enabled', 'Disabled']),
      mode: oneOf(['Enforce', 'Observe']),
      ruleCount: Type.Integer(),
      rolesNotContained: Type.Integer({
        description: 'Database roles that the masks do not contain, by the last look',
      }),
      enforcement: Type.Object({
        state: stateField,
        since: nullableString,
        reason: nullableString,
        driftRepairs: Type.Integer(),
        lastDriftAt: nullableString,
      }),
      earlierFindings,
    }),
  },
  { title: 'visibleDatabase' },
)

export const listVisibleDatabases = operation({
  name: 'listVisibleDatabases',
  clause: 'MASK-200',
  summary:
    'List the databases that the caller may read, wherever they are, each with its state and number of rules',
  method: 'GET',
  path: '/providers/Vendor.Sql/databases',
  apiVersions: ownApiVersions,
  permission: { anyCaller: 'it shows the databases alone that the roles of the caller allow to read' },
  query: Type.Object({ $skipToken: Type.Optional(Type.String()) }),
  answers: {
    200: Type.Object({ value: Type.Array(visibleDatabase), nextLink: Type.Optional(Type.String()) }),
  },

  async run(context) {
    const { tx, tenantId, caller, namespace, ports, request, apiVersion } = siteOf(context)
    const scopes = scopesAllowing(await ports.rolesOf(tx, caller), action)
    const [position = ''] = decodeSkipToken(context.query.$skipToken, 1) ?? []
    const range = { ...keyRange('/'), position }
    const found = await selectDatabases(tx, tenantId, range, pageSize + 1, scopes)
    const visible = found.slice(0, pageSize)
    const last = visible.at(-1)
    const counts = await countRules(tx, visible)
    const ids = visible.map(({ id }) => id)
    const earlier = await selectEarlierFindings(tx, ids)
    const notContained = await readContained(tx, ids)
    const value = await Promise.all(
      visible.map(async (row) => {
        const report = await reportOf(row, ports.enforcement)
        const { id, bound } = row
        return render(row, namespace, report, {
          ruleCount: counts.get(id) ?? 0,
          rolesNotContained: bound ? notContained(id) : 0,
          earlierFindings: earlier(id),
        })
      }),
    )
    const next =
      last && found.length > pageSize
        ? { 'api-version': apiVersion, $skipToken: encodeSkipToken([keyOf(last.place)]) }
        : undefined
    return ok({ value, ...(next && { nextLink: nextLink(request, next) }) })
  },
})

function render(
  row: DatabaseRow,
  namespace: string,
  { state, since, reason, driftRepairs, lastDriftAt }: EnforcementReport,
  counts: Pick<
    Static<typeof visibleDatabase>['properties'],
    'ruleCount' | 'rolesNotContained' | 'earlierFindings'
  >,
): Static<typeof visibleDatabase> {
  const { place, binding, gatewayName, policyState, policyMode } = row
  return {
    id: idOf(place, namespace),
    name: place.databaseName,
    properties: {
      subscriptionId: place.subscriptionId,
      resourceGroupName: place.resourceGroupName,
      serverName: place.serverName,
      gatewayName,
      boundTo: binding && `${describePlaces(binding)}/${binding.database}`,
      dataMaskingState: policyState,
      mode: policyMode,
      ...counts,
      enforcement: { state, since, reason, driftRepairs, lastDriftAt },
    },
  }
}

async function countRules(tx: Query, rows: readonly DatabaseRow[]): Promise<ReadonlyMap<string, number>> {
  const counted = await tx<{ id: string; count: number }[]>`
    select database_id as id, count(*)::int as count from masking_rule
    where database_id = any(${rows.map(({ id }) => id)}::uuid[]) group by 1`
  return new Map(counted.map(({ id, count }) => [id, count]))
}
