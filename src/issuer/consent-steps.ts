import type { Interaction } from 'oidc-provider'
import { findActiveUser } from '../directory/accounts/find-active-user.ts'
import { findRegistrar } from '../directory/applications/find-registrar.ts'
import { consentPermissions } from '../directory/applications/granted-permissions.ts'
import { lockOwnConsent } from '../directory/applications/lock-consent.ts'
import { readRedirectOrigin } from '../directory/applications/redirect-origins.ts'
import { clientFactsOf } from './client-facts.ts'
import { type MissingConsent, openGrant } from './consent.ts'
import { deviceOrigin } from './sign-in-origin.ts'
import { type ClientOrigin, renderApprovalNeeded, renderConsent, renderExpired } from './sign-in-pages.ts'
import { finish, noteChange, show, type Visit } from './visit.ts'

export async function askConsent(visit: Visit): Promise<void> {
  const { ctx, options, interaction, clientName, action, formToken } = visit
  const user = await findActiveUser(options.database.sql, options.identity.tenantId, {
    id: interaction.session?.accountId ?? '',
  })
  if (!user) return show(ctx, 400, renderExpired())
  const origin = await describeOrigin(visit)
  const form = { clientName, origin, action, formToken, userPrincipalName: user.userPrincipalName }
  const { administratorOnly, consentable } = missingIn(interaction)
  if (administratorOnly.length > 0)
    return show(ctx, 403, renderApprovalNeeded({ ...form, scopes: administratorOnly }), visit)
  const asked = String(interaction.params.scope ?? '').split(' ')
  const scopes = consentable.length > 0 ? consentable : asked.filter((name) => name !== '.default')
  const userCode = await findUserCode(visit)
  show(ctx, 200, renderConsent({ ...form, scopes, ...(userCode !== undefined && { userCode }) }), visit)
}

/** The code that the device shows, as it shows it; undefined where no device waits for the sign-in. */
async function findUserCode({ provider, interaction: { deviceCode } }: Visit): Promise<string | undefined> {
  const found = deviceCode === undefined ? undefined : await provider.DeviceCode.find(deviceCode)
  return found?.userCode?.replace(/^(.{4})(.{4})$/, '$1-$2')
}

/** Facts about an application that it cannot choose for itself. */
async function describeOrigin({ provider, options, interaction }: Visit): Promise<ClientOrigin> {
  const clientId = String(interaction.params.client_id)
  const client = await provider.Client.find(clientId)
  const facts = client && clientFactsOf(client)
  const registrar =
    facts && !facts.firstParty
      ? await findRegistrar(options.database.sql, options.identity.tenantId, facts.applicationId)
      : undefined
  const redirectUri = interaction.params.redirect_uri
  return {
    clientId,
    isOwn: facts?.firstParty === true,
    registrar,
    ...(typeof redirectUri === 'string' && { redirectUri }),
  }
}

function missingIn(interaction: Interaction): MissingConsent {
  const details = interaction.prompt.details as { missing?: MissingConsent }
  return details.missing ?? { consentable: [], administratorOnly: [] }
}

export async function consent(visit: Visit): Promise<void> {
  const { provider, options, interaction } = visit
  const { administratorOnly, consentable } = missingIn(interaction)
  const userId = interaction.session?.accountId
  const client = await provider.Client.find(String(interaction.params.client_id))
  if (administratorOnly.length > 0 || !userId || !client) return finish(visit, { error: 'access_denied' })
  const { servicePrincipalId } = clientFactsOf(client)
  const { identity, database } = options
  const { tenantId } = identity
  const { deviceCode, params } = interaction
  const origin = deviceCode === undefined ? readRedirectOrigin(params.redirect_uri) : deviceOrigin
  const origins = origin === undefined ? [] : [origin]
  const isStored = await database.transaction(async (tx) => {
    if (!(await lockOwnConsent(tx, tenantId, servicePrincipalId, userId))) return false
    const permissions = consentable
    await consentPermissions(tx, { tenantId, servicePrincipalId, userId, permissions, origins })
    const after = { userId, permissions, origins }
    const target = `/servicePrincipals/${servicePrincipalId}`
    if (consentable.length > 0) await noteChange(visit, tx, userId, { action: 'consent', target, after })
    return true
  })
  if (!isStored) return finish(visit, { error: 'access_denied' })
  const { clientId } = client
  const session = interaction.session && (await provider.Session.findByUid(interaction.session.uid))
  const known = session?.accountId === userId ? session.grantIdFor(clientId) : undefined
  const grant = await openGrant(provider, identity, { accountId: userId, clientId }, known)
  await finish(visit, { consent: { grantId: grant.jti } })
}
