import { type Static, Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { operation, resourcesApiVersions } from '../operation.ts'
import { fold } from '../place.ts'
import { siteOf } from '../resource.ts'
import { listPlaces } from './list-places.ts'

const clause = 'MASK-180'
const permission = { anyCaller: 'Lists what the roles of the caller reach, and nothing else.' }

const subscriptionAnswer = Type.Object({
  id: Type.String(),
  subscriptionId: Type.String(),
  tenantId: Type.String(),
  displayName: Type.String(),
  state: Type.Literal('Enabled'),
  authorizationSource: Type.Literal('RoleBased'),
  managedByTenants: Type.Array(Type.Object({ tenantId: Type.String() })),
  subscriptionPolicies: Type.Object({
    locationPlacementId: Type.String(),
    quotaId: Type.String(),
    spendingLimit: Type.Literal('Off'),
  }),
})

export const listSubscriptions = operation({
  name: 'listMaskingSubscriptions',
  clause,
  summary: 'List the subscriptions that the caller has a role in',
  method: 'GET',
  path: '/subscriptions',
  apiVersions: resourcesApiVersions,
  permission,
  answers: {
    200: Type.Object({
      value: Type.Array(subscriptionAnswer),
      count: Type.Object({ type: Type.Literal('Total'), value: Type.Integer() }),
    }),
  },

  async run(context) {
    const site = siteOf(context)
    const names = new Map<string, string>()
    for (const { subscriptionId } of await listPlaces(site))
      if (!names.has(fold(subscriptionId))) names.set(fold(subscriptionId), subscriptionId)
    const value = [...names.values()].map((name) => renderSubscription(name, site.tenantId))
    return ok({ value, count: { type: 'Total', value: value.length } })
  },
})

export const getSubscription = operation({
  name: 'getMaskingSubscription',
  clause,
  summary: 'Get a subscription that the caller has a role in',
  method: 'GET',
  path: '/subscriptions/:subscriptionId',
  apiVersions: resourcesApiVersions,
  permission,
  answers: { 200: subscriptionAnswer },

  async run(context) {
    const site = siteOf(context)
    const [place] = await listPlaces(site)
    if (!place) fail('SubscriptionNotFound', { subscription: site.params.subscriptionId ?? '' })
    return ok(renderSubscription(place.subscriptionId, site.tenantId))
  },
})

function renderSubscription(name: string, tenantId: string): Static<typeof subscriptionAnswer> {
  return {
    id: `/subscriptions/${name}`,
    subscriptionId: name,
    tenantId,
    displayName: name,
    state: 'Enabled',
    authorizationSource: 'RoleBased',
    managedByTenants: [],
    subscriptionPolicies: { locationPlacementId: 'local', quotaId: 'none', spendingLimit: 'Off' },
  }
}
