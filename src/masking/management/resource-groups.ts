import { type Static, Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { defaultLocation } from '../databases/database-row.ts'
import { providerOf } from '../namespace.ts'
import { operation, resourcesApiVersions } from '../operation.ts'
import { canonicalNamespace } from '../place.ts'
import { type Site, siteOf } from '../resource.ts'
import { listPlaces } from './list-places.ts'

const clause = 'MASK-181'
const permission = { anyCaller: 'Lists what the roles of the caller reach, and nothing else.' }
const listPath = '/subscriptions/:subscriptionId/resourceGroups'

const resourceGroupAnswer = Type.Object({
  id: Type.String(),
  name: Type.String(),
  type: Type.String(),
  location: Type.String(),
  tags: Type.Record(Type.String(), Type.String()),
  properties: Type.Object({ provisioningState: Type.Literal('Succeeded') }),
})
type ResourceGroup = Static<typeof resourceGroupAnswer>

export const listResourceGroups = operation({
  name: 'listResourceGroups',
  clause,
  summary: 'List the resource groups of a subscription that the caller has a role in',
  method: 'GET',
  path: listPath,
  apiVersions: resourcesApiVersions,
  permission,
  answers: { 200: Type.Object({ value: Type.Array(resourceGroupAnswer) }) },

  run: async (context) => ok({ value: await readResourceGroups(siteOf(context)) }),
})

export const getResourceGroup = operation({
  name: 'getResourceGroup',
  clause,
  summary: 'Get a resource group that the caller has a role in',
  method: 'GET',
  path: `${listPath}/:resourceGroupName`,
  apiVersions: resourcesApiVersions,
  permission,
  answers: { 200: resourceGroupAnswer },
  headStatus: 204,

  async run(context) {
    const site = siteOf(context)
    const [group] = await readResourceGroups(site)
    return ok(group ?? fail('ResourceGroupNotFound', { group: site.params.resourceGroupName ?? '' }))
  },
})

async function readResourceGroups(site: Site): Promise<ResourceGroup[]> {
  const type = `${providerOf(site.ports.providerAliases[0] ?? canonicalNamespace, 'Resources')}/resourceGroups`
  return (await listPlaces(site)).flatMap(({ subscriptionId, resourceGroupName: name, location }) =>
    name === null
      ? []
      : {
          id: `/subscriptions/${subscriptionId}/resourceGroups/${name}`,
          name,
          type,
          location: location ?? defaultLocation,
          tags: {},
          properties: { provisioningState: 'Succeeded' as const },
        },
  )
}
