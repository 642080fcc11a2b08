import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { defaultLocation } from '../databases/database-row.ts'
import { operation, resourcesApiVersions } from '../operation.ts'
import { siteOf } from '../resource.ts'
import { listPlaces } from './list-places.ts'
import { selectResources } from './select-resources.ts'

const locationAnswer = Type.Object({
  id: Type.String(),
  subscriptionId: Type.String(),
  name: Type.String(),
  type: Type.Literal('Region'),
  displayName: Type.String(),
  regionalDisplayName: Type.String(),
  metadata: Type.Object({ regionType: Type.Literal('Physical'), regionCategory: Type.Literal('Other') }),
})

export const listLocations = operation({
  name: 'listLocations',
  clause: 'MASK-211',
  summary: 'List the locations of the servers and databases that the caller may read, and the default one',
  method: 'GET',
  path: '/subscriptions/:subscriptionId/locations',
  apiVersions: resourcesApiVersions,
  permission: { anyCaller: 'Lists locations that the roles of the caller reach, and no others.' },
  query: Type.Object({ includeExtendedLocations: Type.Optional(Type.String()) }),
  answers: { 200: Type.Object({ value: Type.Array(locationAnswer) }) },

  async run(context) {
    const site = siteOf(context)
    const [place] = await listPlaces(site)
    if (!place) return fail('SubscriptionNotFound', { subscription: site.params.subscriptionId ?? '' })
    const { table } = await selectResources(site)
    const rows = await site.tx<{ name: string }[]>`
      select min(location collate "C") as name from ${table} group by lower(location) order by 1`
    const names = rows.map(({ name }) => name)
    if (!names.some((name) => name.toLowerCase() === defaultLocation)) names.push(defaultLocation)
    const value = names.map((name) => ({
      id: `/subscriptions/${place.subscriptionId}/locations/${name}`,
      subscriptionId: place.subscriptionId,
      name,
      type: 'Region',
      displayName: name,
      regionalDisplayName: name,
      metadata: { regionType: 'Physical', regionCategory: 'Other' },
    }))
    return ok({ value })
  },
})
