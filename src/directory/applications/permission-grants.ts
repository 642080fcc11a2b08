import { Type } from 'typebox'
import { created, noContent, ok } from '../../api/operation.ts'
import { lockRightsToGive } from '../../auth/rights-lock.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { describeWrite } from '../entities/entity-write.ts'
import { requireUnchanged } from '../entities/read-properties.ts'
import { collectionSchema, context as metadata } from '../entities/schemas.ts'
import { contextOf } from '../entities/show-entity.ts'
import { typedObject } from '../entities/type-names.ts'
import { type DirectoryObject, findObject } from '../objects/object-store.ts'
import { operation } from '../operation.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { serviceAppId } from './api-principal.ts'
import { countHolders } from './count-holders.ts'
import { consentPermissions, withdrawConsent } from './granted-permissions.ts'
import { joinIds, splitIds } from './joined-id.ts'
import { lockConsent, lockNewConsent } from './lock-consent.ts'
import { permissionGrantPermissions } from './permissions.ts'
import { listOriginsFor } from './redirect-origins.ts'

const uuid = Type.String({ format: 'uuid' })

const grantSchema = Type.Object(
  {
    '@odata.context': Type.Optional(metadata),
    id: Type.String(),
    clientId: uuid,
    consentType: Type.String({ enum: ['AllPrincipals', 'Principal'] }),
    principalId: Type.Union([uuid, Type.Null()]),
    resourceId: uuid,
    scope: Type.String(),
  },
  { title: 'oAuth2PermissionGrant' },
)
const listSchema = collectionSchema(grantSchema, 'oAuth2PermissionGrantCollection')

interface GrantRow {
  readonly client_id: string
  readonly user_id: string | null
  readonly resource_id: string
  readonly permissions: readonly string[]
}

/** All permissions that one client has for one user, or for all of them, are one grant. */
function selectGrants(tx: Query, tenantId: string) {
  return tx<GrantRow[]>`
    select granted.client_id, granted.user_id, resource.id as resource_id,
      array_agg(granted.permission order by granted.permission) as permissions
    from delegated_permission granted
    join directory_object client on client.tenant_id = granted.tenant_id and client.id = granted.client_id
    join directory_object resource
      on resource.tenant_id = granted.tenant_id and resource.kind = 'servicePrincipal'
      and resource.app_id = ${serviceAppId} and resource.deleted_at is null
    where granted.tenant_id = ${tenantId} and client.deleted_at is null
    group by granted.client_id, granted.user_id, resource.id
    order by granted.client_id, granted.user_id nulls first`
}

function render(row: GrantRow) {
  return {
    id: joinIds(row.client_id, row.user_id),
    clientId: row.client_id,
    consentType: row.user_id === null ? 'AllPrincipals' : 'Principal',
    principalId: row.user_id,
    resourceId: row.resource_id,
    scope: row.permissions.join(' '),
  }
}

const set = 'oauth2PermissionGrants'

const listGrants = operation({
  name: 'listOauth2PermissionGrants',
  clause: 'DIR-151',
  summary: 'List what was consented for users',
  method: 'GET',
  path: '/oauth2PermissionGrants',
  permission: { row: permissionGrantPermissions.read },
  query: Type.Object({ $filter: Type.Optional(Type.String({ maxLength: 500 })) }),
  answers: { 200: listSchema },
  async run({ tx, caller: { tenantId }, query, request }) {
    const grants = (await selectGrants(tx, tenantId)).map(render)
    const value = grants.filter(readFilter(query.$filter))
    return ok({ '@odata.context': contextOf(request.baseUrl, set), value })
  },
})

/** As much of a filter as clients send here: equalities joined by `and`. */
function readFilter(filter: string | undefined): (grant: ReturnType<typeof render>) => boolean {
  if (filter === undefined) return () => true
  const terms = filter.split(/\s+and\s+/i).map((term) => /^(\w+)\s+eq\s+'([^']*)'$/.exec(term.trim()))
  const fields = ['clientId', 'consentType', 'principalId', 'resourceId'] as const
  const wanted = terms.map((term) => {
    const field = fields.find((name) => name === term?.[1])
    return field
      ? { field, value: term?.[2] }
      : fail('UnsupportedQuery', {
          option: '$filter',
          reason: 'compares clientId, consentType, principalId and resourceId with eq',
        })
  })
  return (grant) => wanted.every(({ field, value }) => grant[field] === value)
}

const listGrantsOfClient = operation({
  name: 'listOauth2PermissionGrantsOfServicePrincipal',
  clause: 'DIR-151',
  summary: 'List what was consented for users of one application',
  method: 'GET',
  path: '/servicePrincipals/:id/oauth2PermissionGrants',
  permission: { row: permissionGrantPermissions.read },
  answers: { 200: listSchema },
  async run({ tx, caller: { tenantId }, params, request }) {
    const { id } = await findObject(tx, tenantId, 'servicePrincipal', params.id ?? '')
    const rows = (await selectGrants(tx, tenantId)).filter(({ client_id }) => client_id === id)
    return ok({ '@odata.context': contextOf(request.baseUrl, set), value: rows.map(render) })
  },
})

const getGrant = operation({
  name: 'getOauth2PermissionGrant',
  clause: 'DIR-151',
  summary: 'Get what was consented for users, by its id',
  method: 'GET',
  path: '/oauth2PermissionGrants/:id',
  permission: { row: permissionGrantPermissions.read },
  answers: { 200: grantSchema },
  async run({ tx, caller: { tenantId }, params: { id = '' }, request }) {
    const grant = render(await findGrant(tx, tenantId, id))
    return ok({ '@odata.context': `${contextOf(request.baseUrl, set)}/$entity`, ...grant })
  },
})

async function findGrant(tx: Query, tenantId: string, id: string): Promise<GrantRow> {
  const [clientId, userId] = splitIds(id) ?? []
  const rows = clientId ? await selectGrants(tx, tenantId) : []
  const row = rows.find(({ client_id, user_id }) => client_id === clientId && user_id === userId)
  return row ?? fail('ObjectNotFound', { id: id.slice(0, 200) })
}

/**
 * A grant with its client, which is locked before the grant is read: a change that waited is about what the one before it left.
 * One of a deleted user can be withdrawn alone.
 */
async function lockGrant(
  tx: Query,
  tenantId: string,
  id: string,
  { ofDeleted }: { readonly ofDeleted: boolean },
): Promise<[GrantRow, DirectoryObject]> {
  const [clientId, userId] = splitIds(id) ?? fail('ObjectNotFound', { id: id.slice(0, 200) })
  const client = ofDeleted
    ? (await lockConsent(tx, tenantId, clientId, userId)).client
    : await lockNewConsent(tx, tenantId, clientId, userId)
  return [await findGrant(tx, tenantId, id), client]
}

const scope = Type.String({ maxLength: 4000 })
const words = (text: string) => [...new Set(text.split(' ').filter(Boolean))]

const createGrant = operation({
  name: 'createOauth2PermissionGrant',
  clause: 'DIR-151',
  summary: 'Consent for one user or all',
  method: 'POST',
  path: '/oauth2PermissionGrants',
  permission: { row: permissionGrantPermissions.write },
  right: 'consentForPeople',
  body: typedObject(['oAuth2PermissionGrant'], {
    clientId: Type.String(),
    consentType: Type.Union([Type.Literal('AllPrincipals'), Type.Literal('Principal')]),
    principalId: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    resourceId: Type.String(),
    scope,
    startTime: Type.Optional(Type.String()),
    expiryTime: Type.Optional(Type.String()),
  }),
  answers: { 201: grantSchema },
  async run(context) {
    const { tx, caller, body, request, audit } = context
    const { tenantId } = caller
    const { consentType, principalId } = body
    if ((consentType === 'Principal') !== (typeof principalId === 'string')) failField('principalId')
    const userId = principalId?.toLowerCase() ?? null
    const client = await lockNewConsent(tx, tenantId, body.clientId, userId)
    const resource = await findObject(tx, tenantId, 'servicePrincipal', body.resourceId)
    if (resource.properties.appId !== serviceAppId) failField('resourceId')
    const grants = await selectGrants(tx, tenantId)
    if (grants.some(({ client_id, user_id }) => client_id === client.id && user_id === userId))
      fail('PermissionGrantExists')
    const permissions = words(body.scope)
    if (permissions.length === 0) failField('scope')
    await lockRightsToGive(tx)
    await beforeWrite(context, describeWrite('add', client, { oauth2PermissionGrants: permissions }))
    const origins = await listOriginsFor(tx, tenantId, client.id, userId)
    await consentPermissions(tx, { tenantId, servicePrincipalId: client.id, userId, permissions, origins })
    const id = joinIds(client.id, userId)
    const holders = await countHolders(tx, tenantId, client.id)
    const after = { userId, permissions, holders }
    audit({ action: 'consent', target: `/servicePrincipals/${client.id}`, after })
    const grant = render(await findGrant(tx, tenantId, id))
    return created({ '@odata.context': `${contextOf(request.baseUrl, set)}/$entity`, ...grant })
  },
})

const updateGrant = operation({
  name: 'updateOauth2PermissionGrant',
  clause: 'DIR-151',
  summary: 'Change what was consented',
  method: 'PATCH',
  path: '/oauth2PermissionGrants/:id',
  permission: { row: permissionGrantPermissions.write },
  right: 'consentForPeople',
  body: typedObject(['oAuth2PermissionGrant'], { ...Type.Partial(grantSchema).properties, scope }),
  answers: { 204: null },
  async run(context) {
    const { tx, caller, params, body, audit } = context
    const { tenantId } = caller
    const [grant, client] = await lockGrant(tx, tenantId, params.id ?? '', { ofDeleted: false })
    const { client_id, user_id: userId, permissions } = grant
    const { scope, ...others } = body
    requireUnchanged(render(grant), others)
    const wanted = words(scope)
    const consent = { tenantId, servicePrincipalId: client_id, userId }
    const gone = permissions.filter((name) => !wanted.includes(name))
    await lockRightsToGive(tx)
    await beforeWrite(context, describeWrite('remove', client, { oauth2PermissionGrants: gone }))
    await beforeWrite(context, describeWrite('add', client, { oauth2PermissionGrants: wanted }))
    await withdrawConsent(tx, { ...consent, permissions: gone })
    const origins = await listOriginsFor(tx, tenantId, client_id, userId)
    // What was consented before stays at the origins that it was consented for.
    const fresh = wanted.filter((name) => !permissions.includes(name))
    await consentPermissions(tx, { ...consent, permissions: fresh, origins })
    const target = `/servicePrincipals/${client_id}`
    audit({
      action: 'consent',
      target,
      before: { userId, permissions },
      after: { userId, permissions: wanted, holders: await countHolders(tx, tenantId, client_id) },
    })
    return noContent
  },
})

const deleteGrant = operation({
  name: 'deleteOauth2PermissionGrant',
  clause: 'DIR-151',
  summary: 'Withdraw what was consented',
  method: 'DELETE',
  path: '/oauth2PermissionGrants/:id',
  permission: { row: permissionGrantPermissions.write },
  right: 'consentForPeople',
  answers: { 204: null },
  async run(context) {
    const { tx, caller, params, audit } = context
    const { tenantId } = caller
    const [grant, client] = await lockGrant(tx, tenantId, params.id ?? '', { ofDeleted: true })
    const { client_id, user_id: userId, permissions } = grant
    await beforeWrite(context, describeWrite('remove', client, { oauth2PermissionGrants: permissions }))
    await withdrawConsent(tx, { tenantId, servicePrincipalId: client_id, userId, permissions })
    const target = `/servicePrincipals/${client_id}`
    audit({ action: 'withdraw consent', target, before: { userId, permissions } })
    return noContent
  },
})

function failField(property: string): never {
  return fail('InvalidPropertyValue', { property, resource: 'OAuth2PermissionGrant' }, { target: property })
}

export const permissionGrantOperations = [
  listGrants,
  listGrantsOfClient,
  getGrant,
  createGrant,
  updateGrant,
  deleteGrant,
]
