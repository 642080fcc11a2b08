import type { IncomingMessage, ServerResponse } from 'node:http'
import { isFirstParty } from '../auth/first-party.ts'
import type { Gatekeeper } from '../auth/gatekeeper.ts'
import type { Query } from '../db/query.ts'
import { readProfile } from '../directory/accounts/read-profile.ts'
import { findClientApplication } from '../directory/applications/find-client-application.ts'
import { listDelegatedPermissions } from '../directory/applications/granted-permissions.ts'
import { Problem } from '../kernel/problem.ts'

interface Sources {
  readonly sql: Query
  readonly gatekeeper: Pick<Gatekeeper, 'authenticate'>
}

/** Answers who the signed-in person of a token is, as far as the client has consent for `profile` and `email` at the origin of the sign-in. */
export async function sendUserinfo(
  { sql, gatekeeper }: Sources,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.setHeader('cache-control', 'no-store')
  response.setHeader('access-control-allow-origin', '*')
  if (request.method !== 'GET' && request.method !== 'POST') {
    response.writeHead(405, { allow: 'GET, POST' }).end()
    return
  }
  try {
    const caller = await gatekeeper.authenticate(request.headers.authorization, request.socket)
    if (caller.kind !== 'delegated') return refuse(response, 403, 'insufficient_scope')
    const claims = await readClaims(sql, caller)
    if (!claims) return refuse(response, 401, 'invalid_token')
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(claims))
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 401) throw error
    refuse(response, 401, 'invalid_token')
  }
}

async function readClaims(
  sql: Query,
  caller: Awaited<ReturnType<Gatekeeper['authenticate']>>,
): Promise<object | undefined> {
  const { tenantId, objectId, applicationId, signInOrigin } = caller
  const client = await findClientApplication(sql, tenantId, applicationId)
  const profile = await readProfile(sql, tenantId, objectId)
  if (!profile) return undefined
  const firstParty = isFirstParty(applicationId)
  const granted = client
    ? await listDelegatedPermissions(sql, {
        tenantId,
        servicePrincipalId: client.service_principal_id,
        userId: objectId,
        firstParty,
        origin: signInOrigin,
      })
    : []
  const has = (scope: string) => firstParty || granted.includes(scope)
  const { displayName, givenName, surname, userPrincipalName, mail } = profile
  const known = Object.entries({
    ...(has('profile') && {
      name: displayName,
      given_name: givenName,
      family_name: surname,
      preferred_username: userPrincipalName,
    }),
    ...(has('email') && { email: mail }),
  }).filter(([, value]) => value !== null)
  return { sub: objectId, ...Object.fromEntries(known) }
}

function refuse(response: ServerResponse, status: number, error: string): void {
  response
    .writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      'www-authenticate': `Bearer error="${error}"`,
    })
    .end(JSON.stringify({ error }))
}
