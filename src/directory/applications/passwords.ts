import { Type } from 'typebox'
import { noContent, ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { describeWrite } from '../entities/entity-write.ts'
import { typedObject } from '../entities/type-names.ts'
import { findObject } from '../objects/object-store.ts'
import { operation } from '../operation.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { addSecret, removeSecret } from './application-secret.ts'
import { credentialPermissions } from './permissions.ts'

const credentialSchema = Type.Object(
  {
    '@odata.context': Type.String(),
    customKeyIdentifier: Type.Null(),
    displayName: Type.Union([Type.String(), Type.Null()]),
    endDateTime: Type.String({ format: 'date-time' }),
    hint: Type.String(),
    keyId: Type.String({ format: 'uuid' }),
    secretText: Type.String(),
    startDateTime: Type.String({ format: 'date-time' }),
  },
  { title: 'passwordCredential' },
)

const moment = Type.Optional(Type.Union([Type.String({ maxLength: 40 }), Type.Null()]))

export const addPassword = operation({
  name: 'addPassword',
  clause: 'DIR-148',
  summary: 'Add a secret to an application',
  method: 'POST',
  path: '/applications/:id/addPassword',
  permission: { row: credentialPermissions.write },
  right: 'manageApplication',
  body: Type.Object(
    {
      passwordCredential: Type.Optional(
        typedObject(['passwordCredential', 'application_passwordCredentials'], {
          displayName: Type.Optional(Type.Union([Type.String({ maxLength: 120 }), Type.Null()])),
          startDateTime: moment,
          endDateTime: moment,
        }),
      ),
    },
    { additionalProperties: false },
  ),
  answers: { 200: credentialSchema },
  async run(context) {
    const { tx, caller, params, body, request, audit } = context
    const { tenantId } = caller
    const application = await findObject(tx, tenantId, 'application', params.id ?? '', { lock: true })
    const { displayName, startDateTime, endDateTime } = body.passwordCredential ?? {}
    const startsAt = readMoment(startDateTime, 'startDateTime')
    const endsAt = readMoment(endDateTime, 'endDateTime')
    await beforeWrite(
      context,
      describeWrite('add', application, { passwordCredentials: [displayName ?? null] }),
    )
    const secret = await addSecret(tx, tenantId, application.id, {
      displayName: displayName ?? null,
      ...(startsAt && { startsAt }),
      ...(endsAt && { endsAt }),
    })
    const shown = {
      displayName: secret.displayName,
      endDateTime: secret.endsAt.toISOString(),
      hint: secret.hint,
      keyId: secret.keyId,
      startDateTime: secret.startsAt.toISOString(),
    }
    audit({ action: 'add password', target: `/applications/${application.id}`, after: shown })
    return ok({
      '@odata.context': `${request.baseUrl}/$metadata#vendor.graph.passwordCredential`,
      customKeyIdentifier: null,
      ...shown,
      secretText: secret.secretText,
    })
  },
})

function readMoment(text: string | null | undefined, property: string): Date | undefined {
  if (text === null || text === undefined) return undefined
  const moment = new Date(text)
  if (/^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(moment.getTime())) return moment
  return fail('InvalidPropertyValue', { property, resource: 'PasswordCredential' }, { target: property })
}

export const removePassword = operation({
  name: 'removePassword',
  clause: 'DIR-149',
  summary: 'Remove a secret from an application',
  method: 'POST',
  path: '/applications/:id/removePassword',
  permission: { row: credentialPermissions.write },
  right: 'manageApplication',
  body: Type.Object({ keyId: Type.String({ maxLength: 100 }) }, { additionalProperties: false }),
  answers: { 204: null },
  async run(context) {
    const { tx, caller, params, body, audit } = context
    const { tenantId } = caller
    const { keyId } = body
    const application = await findObject(tx, tenantId, 'application', params.id ?? '', { lock: true })
    if (!isUuid(keyId))
      fail('InvalidPropertyValue', { property: 'keyId', resource: 'PasswordCredential' }, { target: 'keyId' })
    await beforeWrite(context, describeWrite('remove', application, { passwordCredentials: [keyId] }))
    await removeSecret(tx, tenantId, application.id, keyId)
    audit({ action: 'remove password', target: `/applications/${application.id}`, before: { keyId } })
    return noContent
  },
})
