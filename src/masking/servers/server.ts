import { type Static, Type } from 'typebox'
import type { Query } from '../../db/query.ts'
import type { KeyRange } from '../page.ts'
import { canonicalNamespace, fold, idOf, keyOf, type ServerPlace } from '../place.ts'
import { trackedAnswer, trackedInput } from '../tracked-resource.ts'

const strict = { additionalProperties: false }

export const serverInput = Type.Object(
  {
    ...trackedInput,
    properties: Type.Optional(Type.Object({ state: Type.Optional(Type.String()) }, strict)),
  },
  strict,
)

export const serverAnswer = Type.Object({
  ...trackedAnswer,
  properties: Type.Object({ state: Type.Literal('Ready') }),
})

export interface Server {
  readonly key: string
  readonly place: ServerPlace
  readonly location: string
  readonly tags: Readonly<Record<string, string>>
  readonly version: number
}

type Stored = Omit<Server, 'place'> & ServerPlace

const columns = (tx: Query) => tx`
  key, subscription_id as "subscriptionId", resource_group as "resourceGroupName", name as "serverName", location,
  tags, version`

function asServer({ subscriptionId, resourceGroupName, serverName, ...rest }: Stored): Server {
  return { ...rest, place: { subscriptionId, resourceGroupName, serverName } }
}

export async function findServer(tx: Query, tenantId: string, place: ServerPlace): Promise<Server | null> {
  const [row] = await tx<Stored[]>`
    select ${columns(tx)} from server where tenant_id = ${tenantId} and key = ${keyOf(place)}`
  return row ? asServer(row) : null
}

export async function lockServer(tx: Query, tenantId: string, place: ServerPlace): Promise<Server | null> {
  const [row] = await tx<Stored[]>`
    select ${columns(tx)} from server where tenant_id = ${tenantId} and key = ${keyOf(place)} for update`
  return row ? asServer(row) : null
}

export async function selectServers(
  tx: Query,
  tenantId: string,
  range: KeyRange & { readonly position: string },
  limit: number,
): Promise<Server[]> {
  const rows = await tx<Stored[]>`
    select ${columns(tx)} from server
    where tenant_id = ${tenantId} and key > ${range.after} and key < ${range.before} and key > ${range.position}
    order by key limit ${limit}`
  return rows.map(asServer)
}

export function renderServer(
  server: Omit<Server, 'key' | 'version'>,
  namespace: string,
): Static<typeof serverAnswer> {
  return {
    id: idOf(server.place, namespace),
    name: server.place.serverName,
    type: `${namespace}/servers`,
    kind: null,
    location: server.location,
    tags: { ...server.tags },
    properties: { state: 'Ready' },
  }
}

export function serverTarget(place: ServerPlace): string {
  return fold(idOf(place, canonicalNamespace))
}
