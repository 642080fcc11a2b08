import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import { created, noContent, ok } from '../../api/operation.ts'
import { requirePermissions } from '../../auth/permit.ts'
import { lockCallerUntilCommit } from '../../db/advisory-locks.ts'
import { selectRevision } from '../../db/change-log.ts'
import { fail } from '../../kernel/problem.ts'
import { requireUnchanged } from '../entities/read-properties.ts'
import { collectionSchema } from '../entities/schemas.ts'
import { typedObject } from '../entities/type-names.ts'
import { objectPermissions } from '../objects/object-permissions.ts'
import { operation } from '../operation.ts'
import {
  type ChangeType,
  changeTypes,
  clientStatePlace,
  contextOfSubscriptions,
  findSubscription,
  ownedBy,
  readResource,
  type Subscription,
  showSubscription,
  subscriptionColumns,
  subscriptionSchema,
  watchedRows,
  writeGrounds,
} from './subscription.ts'

const longestMinutes = 41_760
const mostOfOneCaller = 100
const nullableText = (maxLength: number) =>
  Type.Optional(Type.Union([Type.String({ maxLength }), Type.Null()]))
const url = { maxLength: 2048 }
const instance = '/subscriptions/:subscription'

const createSubscription = operation({
  name: 'createSubscription',
  clause: 'DIR-263',
  summary: 'Subscribe to changes of directory objects',
  method: 'POST',
  path: '/subscriptions',
  permission: { anyRow: watchedRows },
  right: 'subscribe',
  body: typedObject(['subscription'], {
    changeType: Type.String({ maxLength: 100, description: `Some of ${changeTypes.join(', ')}.` }),
    resource: Type.String({ maxLength: 200, description: 'users, users/{id}, groups/{id}/members …' }),
    notificationUrl: Type.String(url),
    lifecycleNotificationUrl: nullableText(url.maxLength),
    expirationDateTime: Type.String({ maxLength: 40 }),
    clientState: nullableText(128),
    latestSupportedTlsVersion: nullableText(10),
    includeResourceData: Type.Optional(Type.Union([Type.Literal(false), Type.Null()])),
  }),
  answers: { 201: subscriptionSchema },
  /** The client proves that it wants notifications at these addresses, before anything is stored. */
  async prepare({ body, caller, ports }) {
    const watched = readResource(body.resource)
    requirePermissions(caller, objectPermissions[watched.kind].read)
    readChangeTypes(body.changeType)
    readExpiry(body.expirationDateTime, ports.changeLogDays)
    for (const address of new Set([
      body.notificationUrl,
      body.lifecycleNotificationUrl ?? body.notificationUrl,
    ]))
      await ports.notifications.validate(address)
    return watched
  },
  async run({ body, caller, tx, request, ports, audit }, watched) {
    const { tenantId, objectId, applicationId } = caller
    const id = randomUUID()
    const { clientState = null, lifecycleNotificationUrl = null } = body
    // Of requests that count at the same time each would stay below the limit. No row serves: the caller need not be in the directory.
    await lockCallerUntilCommit(tx, 'limits', objectId)
    // Requests of other callers delete expired ones at the same time: to wait for them could be a deadlock.
    await tx`
      delete from change_subscription where tenant_id = ${tenantId} and id in (
        select id from change_subscription where tenant_id = ${tenantId} and expires_at < now() for update skip locked)`
    const [{ count = 0 } = {}] = await tx<{ count: number }[]>`
      select count(*) as count from change_subscription where ${ownedBy(tx, caller)}`
    if (count >= mostOfOneCaller) fail('TooManySubscriptions', { limit: mostOfOneCaller })
    const sealed = clientState === null ? null : ports.secrets.seal(clientStatePlace(id), clientState)
    const [stored] = await tx<Subscription[]>`
      insert into change_subscription (tenant_id, id, resource, kind, object_id, members_only, change_types,
        notification_url, lifecycle_url, client_state, creator_id, application_id, namespace, expires_at, grounds, position)
      values (${tenantId}, ${id}, ${body.resource}, ${watched.kind}, ${watched.objectId}, ${watched.membersOnly},
        ${readChangeTypes(body.changeType)}, ${body.notificationUrl}, ${lifecycleNotificationUrl}, ${sealed},
        ${objectId}, ${applicationId}, ${request.namespace}, ${readExpiry(body.expirationDateTime, ports.changeLogDays)},
        ${writeGrounds(tx, ports.notifications.groundsOf(caller))}, ${selectRevision(tx, tenantId)})
      returning ${subscriptionColumns(tx)}`
    const shown = showSubscription(stored as Subscription)
    audit({ action: 'create subscription', target: auditTarget(id), after: describeForAudit(shown) })
    return created(
      { '@odata.context': `${contextOfSubscriptions(request)}/$entity`, ...shown, clientState },
      { location: `${request.baseUrl}/subscriptions/${id}` },
    )
  },
})

const listSubscriptions = operation({
  name: 'listSubscriptions',
  clause: 'DIR-266',
  summary: "List the caller's own subscriptions",
  method: 'GET',
  path: '/subscriptions',
  permission: { anyRow: watchedRows },
  answers: { 200: collectionSchema(subscriptionSchema, 'subscriptionCollection') },
  async run({ tx, caller, request }) {
    const found = await tx<Subscription[]>`
      select ${subscriptionColumns(tx)} from change_subscription where ${ownedBy(tx, caller)} order by id`
    return ok({ '@odata.context': contextOfSubscriptions(request), value: found.map(showSubscription) })
  },
})

const getSubscription = operation({
  name: 'getSubscription',
  clause: 'DIR-266',
  summary: "Get one of the caller's own subscriptions",
  method: 'GET',
  path: instance,
  permission: { anyRow: watchedRows },
  answers: { 200: subscriptionSchema },
  async run({ tx, caller, params, request }) {
    const found = await findSubscription(tx, caller, params.subscription ?? '')
    return ok({ '@odata.context': `${contextOfSubscriptions(request)}/$entity`, ...showSubscription(found) })
  },
})

const renewSubscription = operation({
  name: 'renewSubscription',
  clause: 'DIR-265',
  summary: 'Renew a subscription',
  method: 'PATCH',
  path: instance,
  permission: { anyRow: watchedRows },
  right: 'subscribe',
  body: typedObject(['subscription'], {
    ...Type.Partial(subscriptionSchema).properties,
    expirationDateTime: Type.String({ maxLength: 40 }),
  }),
  answers: { 200: subscriptionSchema },
  async run({ tx, caller, params, body, request, ports, audit }) {
    const found = await findSubscription(tx, caller, params.subscription ?? '', { lock: true })
    requirePermissions(caller, objectPermissions[found.kind].read)
    const { expirationDateTime, ...others } = body
    requireUnchanged(showSubscription(found), others)
    const expiresAt = readExpiry(expirationDateTime, ports.changeLogDays)
    const [renewed] = await tx<Subscription[]>`
      update change_subscription set expires_at = ${expiresAt}, renewed_at = now(),
        grounds = ${writeGrounds(tx, ports.notifications.groundsOf(caller))}
      where tenant_id = ${caller.tenantId} and id = ${found.id} returning ${subscriptionColumns(tx)}`
    const shown = showSubscription(renewed as Subscription)
    audit({
      action: 'renew subscription',
      target: auditTarget(found.id),
      before: { expirationDateTime: showSubscription(found).expirationDateTime },
      after: { expirationDateTime: shown.expirationDateTime },
    })
    return ok({ '@odata.context': `${contextOfSubscriptions(request)}/$entity`, ...shown })
  },
})

const deleteSubscription = operation({
  name: 'deleteSubscription',
  clause: 'DIR-266',
  summary: 'Delete a subscription',
  method: 'DELETE',
  path: instance,
  permission: { anyRow: watchedRows },
  right: 'subscribe',
  answers: { 204: null },
  async run({ tx, caller, params, audit }) {
    const found = await findSubscription(tx, caller, params.subscription ?? '', { lock: true })
    await tx`delete from change_subscription where tenant_id = ${caller.tenantId} and id = ${found.id}`
    audit({
      action: 'delete subscription',
      target: auditTarget(found.id),
      before: describeForAudit(showSubscription(found)),
    })
    return noContent
  },
})

/** Not `/subscriptions/…`: these are scopes of masking, whose readers see all entries below. */
function auditTarget(id: string): string {
  return `/changeSubscriptions/${id}`
}

/** Addresses of clients often have a key in their path or query: the audit has the origin alone. */
function describeForAudit(shown: ReturnType<typeof showSubscription>) {
  const originOf = (address: string | null) => address && new URL(address).origin
  return {
    ...shown,
    notificationUrl: originOf(shown.notificationUrl),
    lifecycleNotificationUrl: originOf(shown.lifecycleNotificationUrl),
  }
}

function readChangeTypes(text: string): ChangeType[] {
  const names = text.split(',').map((name) => name.trim().toLowerCase())
  const found = changeTypes.filter((type) => names.includes(type))
  return found.length > 0 && names.every((name) => changeTypes.some((type) => type === name))
    ? found
    : failValue('changeType')
}

/** Not beyond the log: a subscription could otherwise outlive changes that it was not told of. */
function readExpiry(text: string, logDays: number): Date {
  const moment = new Date(text)
  const minutes = (moment.getTime() - Date.now()) / 60_000
  const isMoment = /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(minutes)
  const longest = Math.min(longestMinutes, logDays * 24 * 60)
  return isMoment && minutes > 0 && minutes <= longest ? moment : failValue('expirationDateTime')
}

function failValue(property: string): never {
  return fail('InvalidPropertyValue', { property, resource: 'Subscription' }, { target: property })
}

export const subscriptionOperations = [
  createSubscription,
  listSubscriptions,
  getSubscription,
  renewSubscription,
  deleteSubscription,
]
