import { randomBytes } from 'node:crypto'
import type { Adapter, AdapterPayload } from 'oidc-provider'
import { firstPartyApplications, isFirstParty } from '../auth/first-party.ts'
import type { Query } from '../db/query.ts'
import {
  type ApplicationProperties,
  type ClientApplication,
  findClientApplication,
} from '../directory/applications/find-client-application.ts'
import { readSignInWays } from '../directory/applications/redirect-uris.ts'
import { isUuid } from '../kernel/uuid.ts'
import { describeKeys } from './client-certificates.ts'
import { deviceGrant, onBehalfOfGrant } from './route.ts'

/**
 * The library wants some secret on a confidential client. This one never leaves the process and is never compared:
 * `compareClientSecret` is replaced by a look at the stored hashes.
 */
const placeholderSecret = randomBytes(32).toString('base64url')

/** Metadata of a client that our own code reads besides the standard members. */
export const clientFacts = ['application_id', 'service_principal_id', 'first_party', 'shut_outs'] as const

/** Clients are the directory's applications: found there at each request, so that a disabled one stops at once. */
export function createClientDirectory(
  sql: Query,
  tenantId: string,
  portalUris: () => readonly string[],
): Adapter {
  const refuse = async (): Promise<never> => {
    throw new Error('clients are written through the directory')
  }
  return {
    async find(id) {
      if (!isUuid(id)) return undefined
      const row = await findClientApplication(sql, tenantId, id)
      return row && describeClient({ ...row, properties: propertiesOf(row, portalUris) })
    },
    upsert: refuse,
    findByUserCode: refuse,
    findByUid: refuse,
    consume: refuse,
    destroy: refuse,
    revokeByGrantId: refuse,
  }
}

/** The product's own clients are described by the code: a caller that may write applications cannot redirect them. */
function propertiesOf(
  { app_id, properties }: ClientApplication,
  portalUris: () => readonly string[],
): ApplicationProperties {
  const { cli, portal } = firstPartyApplications
  if (app_id === cli.appId) return cli
  return app_id === portal.appId ? { ...portal, spa: { redirectUris: portalUris() } } : properties
}

function describeClient({ app_id, properties, ...ids }: ClientApplication): AdapterPayload {
  const { isPublic, maySignInDevices, kind, redirectUris } = readSignInWays(properties)
  const common = {
    ...ids,
    client_id: app_id,
    client_name: properties.displayName ?? app_id,
    first_party: isFirstParty(app_id),
    redirect_uris: redirectUris,
    post_logout_redirect_uris: redirectUris,
    response_types: redirectUris.length > 0 ? (['code'] as const) : [],
    application_type: kind,
  }
  const code = redirectUris.length > 0 ? ['authorization_code', 'refresh_token'] : []
  return isPublic
    ? {
        ...common,
        token_endpoint_auth_method: 'none',
        grant_types: [...new Set([...code, ...(maySignInDevices ? [deviceGrant, 'refresh_token'] : [])])],
      }
    : {
        ...common,
        ...(describeKeys(properties.keyCredentials ?? []) ?? {
          token_endpoint_auth_method: 'client_secret_post' as const,
          client_secret: placeholderSecret,
        }),
        grant_types: ['client_credentials', onBehalfOfGrant, ...code],
      }
}
