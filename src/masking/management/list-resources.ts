import { type Static, Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { pageSizeOption, queryOption } from '../../api/query-option.ts'
import type { Fragment } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { operation, resourcesApiVersions } from '../operation.ts'
import { decodeSkipToken, encodeSkipToken, nextLink } from '../page.ts'
import { canonicalNamespace, fold, idOf } from '../place.ts'
import { type Site, siteOf } from '../resource.ts'
import { dateTime } from '../schemas.ts'
import { trackedAnswer } from '../tracked-resource.ts'
import { listPlaces } from './list-places.ts'
import { selectResources } from './select-resources.ts'

const pageSize = 1000
const expandable = ['createdTime', 'changedTime', 'provisioningState']

const resourceAnswer = Type.Object({
  ...trackedAnswer,
  createdTime: Type.Optional(dateTime),
  provisioningState: Type.Optional(Type.Literal('Succeeded')),
})

interface Row {
  readonly key: string
  readonly type: 'servers' | 'servers/databases'
  readonly subscriptionId: string
  readonly resourceGroupName: string
  readonly serverName: string
  readonly databaseName: string | null
  readonly location: string
  readonly tags: Readonly<Record<string, string>>
  readonly createdAt: Date
}

export const listResources = operation({
  name: 'listResources',
  clause: 'MASK-212',
  summary: 'List the servers and databases of a subscription or resource group that the caller may read',
  method: 'GET',
  path: [
    '/subscriptions/:subscriptionId/resources',
    '/subscriptions/:subscriptionId/resourceGroups/:resourceGroupName/resources',
  ],
  apiVersions: resourcesApiVersions,
  permission: { anyCaller: 'Lists resources that the roles of the caller allow to read, and no others.' },
  query: Type.Object({
    $filter: queryOption("Conditions such as resourceGroup eq 'ferries', joined by and."),
    $expand: queryOption('Some of createdTime, changedTime and provisioningState, separated by commas.'),
    $top: pageSizeOption(`Rows of a page: 1 to ${pageSize}.`, pageSize),
    $skipToken: queryOption('Where the next page starts; part of nextLink.'),
  }),
  answers: {
    200: Type.Object({
      value: Type.Array(resourceAnswer),
      nextLink: Type.Optional(Type.String({ format: 'uri' })),
    }),
  },

  async run(context) {
    const { query } = context
    const site = siteOf(context)
    const expanded = readExpand(query.$expand)
    const top = readTop(query.$top)
    const [after = ''] = decodeSkipToken(query.$skipToken, 1) ?? []
    const condition = readFilter(site, query.$filter)
    await requirePlace(site)
    const { table } = await selectResources(site)
    const found = await site.tx<Row[]>`
      select key, type, subscription_id as "subscriptionId", resource_group as "resourceGroupName",
        server_name as "serverName", database_name as "databaseName", location, tags, created_at as "createdAt"
      from ${table}
      where key > ${after} and ${condition} order by key limit ${top + 1}`
    const page = found.slice(0, top)
    const last = page.at(-1)
    const next = last &&
      found.length > top && {
        ...query,
        'api-version': site.apiVersion,
        $skipToken: encodeSkipToken([last.key]),
      }
    const namespace = namespaceOf(site)
    return ok({
      value: page.map((row) => render(row, namespace, expanded)),
      ...(next && { nextLink: nextLink(site.request, next) }),
    })
  },
})

/** The path names no provider: the resources are shown under the name that client libraries know. */
function namespaceOf({ ports }: Site): string {
  return ports.providerAliases[0] ?? canonicalNamespace
}

async function requirePlace(site: Site): Promise<void> {
  const { subscriptionId = '', resourceGroupName } = site.params
  if ((await listPlaces(site)).length > 0) return
  if (resourceGroupName === undefined) fail('SubscriptionNotFound', { subscription: subscriptionId })
  fail('ResourceGroupNotFound', { group: resourceGroupName })
}

const conditions: Readonly<Record<string, (site: Site, value: string) => Fragment>> = {
  resourcegroup: ({ tx }, value) => tx`split_part(key, '/', 5) = ${fold(value)}`,
  name: ({ tx }, value) =>
    tx`split_part(key, '/', 9) || coalesce('/' || nullif(split_part(key, '/', 11), ''), '') = ${fold(value)}`,
  location: ({ tx }, value) => tx`lower(location) = lower(${value})`,
  resourcetype: (site, value) => {
    const [, namespace = '', type = ''] = /^([^/]+)\/(.+)$/.exec(fold(value)) ?? []
    const known = [canonicalNamespace, ...site.ports.providerAliases].map(fold)
    return site.tx`type = ${known.includes(namespace) ? type : ''}`
  },
  tagname: ({ tx }, value) =>
    tx`exists (select from jsonb_object_keys(tags) tag where lower(tag) = lower(${value}))`,
  tagvalue: ({ tx }, value) => tx`exists (select from jsonb_each_text(tags) tag where tag.value = ${value})`,
}
const form = /^(\w+)\s+eq\s+'((?:[^']|'')*)'(?:\s+and\s+(?=\w)|\s*$)/i

/** The filters of the original that compare: of the resource, and of its tags. */
function readFilter(site: Site, filter: string | undefined): Fragment {
  let condition = site.tx`true`
  for (let rest = filter?.trim(); rest !== undefined && rest !== ''; ) {
    const [whole = '', name = '', value = ''] = form.exec(rest) ?? []
    const make = Object.hasOwn(conditions, name.toLowerCase()) ? conditions[name.toLowerCase()] : undefined
    if (!make || value.includes('\0'))
      return fail('InvalidQueryOption', {
        option: '$filter',
        reason:
          "must be made of resourceGroup, resourceType, name, location, tagName and tagValue with eq '{value}', joined by and",
      })
    condition = site.tx`${condition} and ${make(site, value.replaceAll("''", "'"))}`
    rest = rest.slice(whole.length)
  }
  return condition
}

function readExpand(text: string | undefined): ReadonlySet<string> {
  const names = (text ?? '').split(',').map((name) => name.trim())
  const unknown = names.find((name) => name !== '' && !expandable.includes(name))
  if (unknown !== undefined)
    fail('InvalidQueryOption', { option: '$expand', reason: `takes ${expandable.join(', ')}` })
  return new Set(names)
}

function readTop(text: string | undefined): number {
  const top = text === undefined ? pageSize : /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (top < 1 || top > pageSize)
    fail('InvalidQueryOption', { option: '$top', reason: `must be a whole number from 1 to ${pageSize}` })
  return top
}

/** A database has the name of its server in front of its own, as nested resources have in the original. */
function render(row: Row, namespace: string, expanded: ReadonlySet<string>): Static<typeof resourceAnswer> {
  const { type, databaseName, location, tags, createdAt, ...place } = row
  const { key: _, ...server } = place
  return {
    id: idOf(databaseName === null ? server : { ...server, databaseName }, namespace),
    name: databaseName === null ? server.serverName : `${server.serverName}/${databaseName}`,
    type: `${namespace}/${type}`,
    kind: null,
    location,
    tags: { ...tags },
    ...(expanded.has('createdTime') && { createdTime: createdAt.toISOString() }),
    ...(expanded.has('provisioningState') && { provisioningState: 'Succeeded' as const }),
  }
}
