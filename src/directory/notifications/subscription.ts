import { Type } from 'typebox'
import type { RequestFacts } from '../../api/operation.ts'
import type { Caller } from '../../auth/caller.ts'
import type { Query } from '../../db/query.ts'
import type { SealedColumn } from '../../db/reseal.ts'
import { fail } from '../../kernel/problem.ts'
import type { TokenGrounds } from '../../kernel/token-grounds.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { formatDateTime } from '../entities/read-value.ts'
import { application } from '../objects/kinds/application.ts'
import { device } from '../objects/kinds/device.ts'
import { group } from '../objects/kinds/group.ts'
import type { ObjectKind } from '../objects/kinds/resource.ts'
import { servicePrincipal } from '../objects/kinds/service-principal.ts'
import { user } from '../objects/kinds/user.ts'
import { objectPermissions } from '../objects/object-permissions.ts'

export const changeTypes = ['created', 'updated', 'deleted'] as const
export type ChangeType = (typeof changeTypes)[number]

const watched = [user, group, servicePrincipal, device, application]

/** The rows of which one admits a request; creating a subscription then takes that of its kind. */
export const watchedRows = watched.map(({ kind }) => objectPermissions[kind].read)

/** The objects that a subscription is about. */
export interface Watched {
  readonly kind: ObjectKind
  readonly objectId: string | null
  readonly membersOnly: boolean
}

export interface Subscription extends Watched {
  readonly id: string
  readonly resource: string
  readonly changeTypes: readonly ChangeType[]
  readonly notificationUrl: string
  readonly lifecycleUrl: string | null
  readonly clientState: Buffer | null
  readonly creatorId: string
  readonly applicationId: string
  readonly renewedAt: Date
  /** Of the token that it was made or last renewed with; null: an earlier release stored it, or there was no token. */
  readonly grounds: TokenGrounds | null
  readonly expiresAt: Date
  readonly position: number
  readonly attempts: number
  /** The namespace of the address under which it was made. */
  readonly namespace: string
}

export function subscriptionColumns(sql: Query) {
  return sql`id, resource, kind, object_id as "objectId", members_only as "membersOnly", change_types as "changeTypes",
    notification_url as "notificationUrl", lifecycle_url as "lifecycleUrl", client_state as "clientState",
    creator_id as "creatorId", application_id as "applicationId", renewed_at as "renewedAt",
    grounds, expires_at as "expiresAt", position, attempts, namespace`
}

/** The place to which a client's secret is sealed. */
export function clientStatePlace(id: string): string {
  return `change_subscription.client_state ${id}`
}

export const sealedClientStates: SealedColumn = {
  table: 'change_subscription',
  key: ['tenant_id', 'id'],
  column: 'client_state',
  place: ([, id = '']) => clientStatePlace(id),
}

/** Reads `users`, `groups/{id}`, `groups/{id}/members`; refuses other resources. */
export function readResource(text: string): Watched {
  const [set = '', id, relation, ...more] = text.replace(/^\/|\/$/g, '').split('/')
  const kind = watched.find((one) => one.set.toLowerCase() === set.toLowerCase())?.kind
  const isKnown = id === undefined || isUuid(id)
  const isRelation = relation === undefined || (kind === 'group' && relation.toLowerCase() === 'members')
  if (!kind || !isKnown || !isRelation || more.length > 0)
    return fail(
      'InvalidPropertyValue',
      { property: 'resource', resource: 'Subscription' },
      { target: 'resource' },
    )
  return { kind, objectId: id?.toLowerCase() ?? null, membersOnly: relation !== undefined }
}

export const subscriptionSchema = Type.Object(
  {
    '@odata.context': Type.Optional(Type.String({ format: 'uri' })),
    id: Type.String({ format: 'uuid' }),
    resource: Type.String(),
    changeType: Type.String(),
    clientState: Type.Union([Type.String(), Type.Null()]),
    notificationUrl: Type.String({ format: 'uri' }),
    lifecycleNotificationUrl: Type.Union([Type.String({ format: 'uri' }), Type.Null()]),
    expirationDateTime: Type.String({ format: 'date-time' }),
    creatorId: Type.String({ format: 'uuid' }),
    applicationId: Type.String({ format: 'uuid' }),
  },
  { title: 'subscription' },
)

/** The client's secret is not shown again. */
export function showSubscription(subscription: Subscription) {
  const { id, resource, notificationUrl, lifecycleUrl, expiresAt, creatorId, applicationId } = subscription
  return {
    id,
    resource,
    changeType: subscription.changeTypes.join(','),
    clientState: null,
    notificationUrl,
    lifecycleNotificationUrl: lifecycleUrl,
    expirationDateTime: formatDateTime(expiresAt),
    creatorId,
    applicationId,
  }
}

export function contextOfSubscriptions({ baseUrl }: RequestFacts): string {
  return `${baseUrl}/$metadata#subscriptions`
}

/** The caller's own subscription that has not expired; another one is not there. */
export async function findSubscription(
  tx: Query,
  caller: Caller,
  id: string,
  options: { readonly lock?: boolean } = {},
): Promise<Subscription> {
  if (!isUuid(id)) return fail('InvalidObjectIdentifier', { id: id.slice(0, 200) })
  const [found] = await tx<Subscription[]>`
    select ${subscriptionColumns(tx)} from change_subscription
    where ${ownedBy(tx, caller)} and id = ${id} ${options.lock ? tx`for update` : tx``}`
  return found ?? fail('ObjectNotFound', { id })
}

/** Of the caller's token, as a value for the store. */
export function writeGrounds(tx: Query, grounds: TokenGrounds | undefined) {
  return grounds === undefined ? null : tx.json(grounds)
}

/** The subscriptions that the same principal made with the same application. */
export function ownedBy(tx: Query, { tenantId, objectId, applicationId }: Caller) {
  return tx`tenant_id = ${tenantId} and creator_id = ${objectId} and application_id = ${applicationId}
    and expires_at > now()`
}
