import { type Static, Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { providerOf } from '../namespace.ts'
import {
  authorizationApiVersions,
  operation,
  originalApiVersions,
  resourcesApiVersions,
} from '../operation.ts'
import { canonicalNamespace, checkName } from '../place.ts'
import { type Site, siteOf } from '../resource.ts'
import { oneOf } from '../schemas.ts'
import type { Provider } from './describe-providers.ts'

const clause = 'MASK-183'
const permission = { anyCaller: 'Says which operations there are, as the description of the API does.' }
const parameter = 'resourceProviderNamespace'

const providerAnswer = Type.Object({
  id: Type.String(),
  namespace: Type.String(),
  registrationPolicy: Type.Literal('RegistrationFree'),
  registrationState: Type.Literal('Registered'),
  resourceTypes: Type.Array(
    Type.Object({
      resourceType: Type.String(),
      apiVersions: Type.Array(Type.String()),
      locations: Type.Array(Type.String()),
      capabilities: Type.Literal('None'),
    }),
  ),
})

const operationAnswer = Type.Object({
  name: Type.String(),
  isDataAction: Type.Literal(false),
  origin: oneOf(['user']),
  display: Type.Object({
    provider: Type.String(),
    resource: Type.String(),
    operation: Type.String(),
    description: Type.String(),
  }),
})

const listPaths = ['/providers', '/subscriptions/:subscriptionId/providers']

export const listProviders = operation({
  name: 'listProviders',
  clause,
  summary: 'List the resource providers, each under every name that paths may have',
  method: 'GET',
  path: listPaths,
  apiVersions: resourcesApiVersions,
  permission,
  query: Type.Object({ $expand: Type.Optional(Type.String()) }),
  answers: { 200: Type.Object({ value: Type.Array(providerAnswer) }) },

  async run(context) {
    const site = siteOf(context)
    return ok({ value: listNamed(site).map((named) => renderProvider(site, named)) })
  },
})

export const getProvider = operation({
  name: 'getProvider',
  clause,
  summary: 'Get a resource provider with its types and their versions',
  method: 'GET',
  path: listPaths.map((path) => `${path}/:${parameter}`),
  apiVersions: resourcesApiVersions,
  permission,
  query: Type.Object({ $expand: Type.Optional(Type.String()) }),
  answers: { 200: providerAnswer },

  async run(context) {
    const site = siteOf(context)
    return ok(renderProvider(site, findNamed(site)))
  },
})

export const listProviderOperations = operation({
  name: 'listProviderOperations',
  clause,
  summary: 'List the actions of a resource provider that roles are made of',
  method: 'GET',
  path: `/providers/:${parameter}/operations`,
  apiVersions: [...new Set([...resourcesApiVersions, ...originalApiVersions, ...authorizationApiVersions])],
  permission,
  answers: { 200: Type.Object({ value: Type.Array(operationAnswer) }) },

  async run(context) {
    const { namespace, provider } = findNamed(siteOf(context))
    const value = [...provider.actions].map(([action, summary]) => ({
      name: `${namespace}/${action}`,
      isDataAction: false,
      origin: 'user',
      display: {
        provider: namespace,
        resource: action.split('/').slice(0, -1).join('/'),
        operation: summary,
        description: summary,
      },
    }))
    return ok({ value })
  },
})

interface Named {
  readonly namespace: string
  readonly provider: Provider
}

function listNamed({ ports }: Site): Named[] {
  return [canonicalNamespace, ...ports.providerAliases].flatMap((alias) =>
    ports.providers.map((provider) => ({
      namespace: provider.kind === 'Sql' ? alias : providerOf(alias, provider.kind),
      provider,
    })),
  )
}

function findNamed(site: Site): Named {
  const wanted = checkName(site.params, parameter)
  const found = listNamed(site).find(({ namespace }) => namespace.toLowerCase() === wanted.toLowerCase())
  return found ?? fail('InvalidResourceNamespace', { namespace: wanted })
}

function renderProvider({ params }: Site, { namespace, provider }: Named): Static<typeof providerAnswer> {
  const { subscriptionId } = params
  if (subscriptionId !== undefined) checkName(params, 'subscriptionId')
  return {
    id: `${subscriptionId === undefined ? '' : `/subscriptions/${subscriptionId}`}/providers/${namespace}`,
    namespace,
    registrationPolicy: 'RegistrationFree',
    registrationState: 'Registered',
    resourceTypes: [...provider.resourceTypes].map(([resourceType, apiVersions]) => ({
      resourceType,
      apiVersions: [...apiVersions],
      locations: [],
      capabilities: 'None' as const,
    })),
  }
}
