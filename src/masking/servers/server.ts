import { type Static, Type } from 'typebox'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { originalApiVersions } from '../operation.ts'
import { keyRange } from '../page.ts'
import {
  checkName,
  fold,
  idOf,
  keyOf,
  readServerPlace,
  type ServerPlace,
  scopeOf,
  serverPath,
} from '../place.ts'
import type { Kind, Site } from '../resource.ts'
import { lockAssignments } from '../role-assignments/confirm-role.ts'
import { endAssignments } from '../role-assignments/end-assignments.ts'
import { each, ignored, oneOf, strict } from '../schemas.ts'
import { trackedAnswer, trackedInput } from '../tracked-resource.ts'

/** An external administrator that names no principal: the roles of this service say who administers a server. */
const noAdministrators = Type.Union([
  Type.Null(),
  Type.Object(
    {
      azureADOnlyAuthentication: Type.Optional(Type.Union([Type.Literal(false), Type.Null()])),
      ...each(['administratorType', 'principalType', 'login', 'sid', 'tenantId'], Type.Optional(Type.Null())),
    },
    strict,
  ),
])

export const serverInput = Type.Object(
  {
    ...trackedInput,
    properties: Type.Optional(
      Type.Object(
        {
          state: Type.Optional(Type.String()),
          ...ignored([
            'administratorLogin',
            'administratorLoginPassword',
            'fullyQualifiedDomainName',
            'version',
          ]),
          // Taken where it is so anyway: a caller must not believe to have closed a network.
          minimalTlsVersion: Type.Optional(oneOf(['None', '1.0', '1.1', '1.2', null])),
          publicNetworkAccess: Type.Optional(oneOf(['Enabled', null])),
          restrictOutboundNetworkAccess: Type.Optional(oneOf(['Disabled', null])),
          createMode: Type.Optional(oneOf(['Normal', null])),
          administrators: Type.Optional(noAdministrators),
        },
        strict,
      ),
    ),
  },
  { ...strict, title: 'newServer', examples: [{ location: 'local', tags: { team: 'ferries' } }] },
)

export const serverAnswer = Type.Object(
  {
    ...trackedAnswer,
    properties: Type.Object({ state: Type.Literal('Ready') }),
  },
  { title: 'server' },
)

export interface Server {
  readonly place: ServerPlace
  readonly location: string
  readonly tags: Readonly<Record<string, string>>
  readonly version: number
}

type Stored = Omit<Server, 'place'> & ServerPlace

const columns = (tx: Query) => tx`
  subscription_id as "subscriptionId", resource_group as "resourceGroupName", name as "serverName", location, tags,
  version`

function asServer({ subscriptionId, resourceGroupName, serverName, ...rest }: Stored): Server {
  return { ...rest, place: { subscriptionId, resourceGroupName, serverName } }
}

export const serverKind: Kind<Server> = {
  noun: 'Server',
  plural: 'Servers',
  clause: 'MASK-107',
  summary: {
    get: 'Get a server',
    list: 'List the servers of a subscription or of a resource group',
    delete: 'Delete a server that has no databases; 204 when there was none',
  },
  action: 'Vendor.Sql/servers',
  apiVersions: originalApiVersions,
  path: serverPath,
  listPath: [
    '/subscriptions/:subscriptionId/providers/Vendor.Sql/servers',
    '/subscriptions/:subscriptionId/resourceGroups/:resourceGroupName/providers/Vendor.Sql/servers',
  ],
  answer: serverAnswer,

  async findParent({ params }) {
    for (const parameter of Object.keys(params)) checkName(params, parameter)
  },
  async find({ tx, tenantId, params }, _parent, isChange) {
    const [row] = await tx<Stored[]>`
      select ${columns(tx)} from server where tenant_id = ${tenantId} and key = ${keyOf(readServerPlace(params))}
      ${isChange ? tx`for update` : tx``}`
    return row ? asServer(row) : null
  },
  async list({ tx, tenantId, params }, _parent, { after: position, limit }) {
    const { after, before } = keyRange(fold(scopeOf(params)))
    const rows = await tx<Stored[]>`
      select ${columns(tx)} from server
      where tenant_id = ${tenantId} and key > ${after} and key < ${before} and key > ${position}
      order by key limit ${limit}`
    return rows.map(asServer)
  },
  pageKeyOf: ({ place }) => keyOf(place),
  versionOf: ({ version }) => version,
  render: renderServer,
  async remove(site, { place }) {
    const held = await countDatabases(site, place)
    if (held > 0)
      fail('Conflict', {
        reason: `The server '${place.serverName}' still has ${held} databases. Delete them first.`,
      })
    await site.tx`delete from server where tenant_id = ${site.tenantId} and key = ${keyOf(place)}`
  },
  /** A server that was never declared can have databases all the same: then it is still there. */
  async removeRemains(site, audit) {
    const place = readServerPlace(site.params)
    if ((await countDatabases(site, place)) === 0) await endAssignments(site, audit, place)
  },
}

/** Behind the lock that the creation of a database takes: none comes until the end of the transaction. */
async function countDatabases({ tx, tenantId }: Site, place: ServerPlace): Promise<number> {
  await lockAssignments(tx)
  const { after, before } = keyRange(keyOf(place))
  const [held] = await tx<{ count: number }[]>`
    select count(*) from masked_database where tenant_id = ${tenantId} and key > ${after} and key < ${before}`
  return held?.count ?? 0
}

export function renderServer(
  { place, location, tags }: Omit<Server, 'version'>,
  namespace: string,
): Static<typeof serverAnswer> {
  return {
    id: idOf(place, namespace),
    name: place.serverName,
    type: `${namespace}/servers`,
    kind: null,
    location,
    tags: { ...tags },
    properties: { state: 'Ready' },
  }
}
