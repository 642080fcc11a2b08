import { randomUUID } from 'node:crypto'
import { firstPartyApplications } from '../auth/first-party.ts'
import { consumerTenantId, issuerOf } from '../auth/identity.ts'
import { issueTimeClaim, readIssueTime } from '../auth/issue-time.ts'
import { knownPermissions } from '../auth/known-permissions.ts'
import type { SigningKeys } from '../auth/signing-keys.ts'
import { writeAudit } from '../db/audit.ts'
import type { Query } from '../db/query.ts'
import { findUserId } from '../directory/accounts/find-active-user.ts'
import { listDirectoryRoles } from '../directory/accounts/list-directory-roles.ts'
import { awaitRevocations } from '../directory/accounts/standing.ts'
import {
  type FirstStart,
  findAdministrator,
  readFirstStart,
} from '../directory/first-start/read-first-start.ts'
import { OperatorError } from '../kernel/operator-error.ts'

/** Whom an operator wants a token for. It carries the permissions asked for, granted or not. */
export interface OperatorTokenRequest {
  readonly for:
    | { readonly kind: 'administrator' }
    | { readonly kind: 'application' }
    | { readonly kind: 'user'; readonly userPrincipalName: string | undefined; readonly personal: boolean }
  readonly permissions: readonly string[]
  readonly lifetimeSeconds: number
  /** Undefined: the service itself. */
  readonly audience: string | undefined
}

interface Means {
  readonly sql: Query
  readonly tenantId: string
  readonly origin: string
  readonly signingKeys: SigningKeys
}

export async function issueOperatorToken(
  { sql, tenantId, origin, signingKeys }: Means,
  request: OperatorTokenRequest,
): Promise<string> {
  const issuedAtMs = await readIssueTime(sql)
  const subject =
    request.for.kind === 'application'
      ? await describeApplication(sql, tenantId, request.permissions)
      : await describeUser(sql, tenantId, request)
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    iss: issuerOf(origin, tenantId),
    aud: request.audience ?? origin,
    iat: now,
    nbf: now,
    exp: now + request.lifetimeSeconds,
    jti: randomUUID(),
    sub: subject.oid,
    appid: subject.azp,
    ver: '2.0',
    [issueTimeClaim]: issuedAtMs,
    ...subject,
  }
  await writeAudit(
    sql,
    { kind: 'operator', tenantId, objectId: subject.oid, applicationId: subject.azp },
    claims.jti,
    { action: 'issueOperatorToken', target: `/directoryObjects/${subject.oid}`, after: claims },
  )
  return signingKeys.sign(claims)
}

async function describeApplication(sql: Query, tenantId: string, permissions: readonly string[]) {
  const { applicationId, servicePrincipalId } = await requireFirstStart(sql, tenantId)
  const roles = [...permissions]
  return { idtyp: 'app', tid: tenantId, oid: servicePrincipalId, azp: applicationId, roles }
}

async function describeUser(sql: Query, tenantId: string, { for: whom, permissions }: OperatorTokenRequest) {
  const name = whom.kind === 'user' ? whom.userPrincipalName : undefined
  const oid =
    name === undefined ? await requireAdministrator(sql, tenantId) : await requireUser(sql, tenantId, name)
  await awaitRevocations(sql, tenantId, oid, oid)
  const scopes = whom.kind === 'administrator' ? Object.keys(knownPermissions) : permissions
  const personal = whom.kind === 'user' && whom.personal
  return {
    idtyp: 'user',
    tid: personal ? consumerTenantId : tenantId,
    oid,
    azp: firstPartyApplications.cli.appId,
    scp: scopes.join(' ') || 'openid',
    wids: personal ? [] : await listDirectoryRoles(sql, tenantId, oid),
  }
}

async function requireFirstStart(sql: Query, tenantId: string): Promise<FirstStart> {
  return (
    (await readFirstStart(sql, tenantId)) ?? failFor('The service has not been started on this database yet.')
  )
}

async function requireAdministrator(sql: Query, tenantId: string): Promise<string> {
  await requireFirstStart(sql, tenantId)
  const administrator = await findAdministrator(sql, tenantId)
  if (administrator) return administrator.id
  return failFor(
    "The administrator of the first start was deleted: 'masquerade admin restore' brings it back; --user names another person.",
  )
}

async function requireUser(sql: Query, tenantId: string, userPrincipalName: string): Promise<string> {
  return (
    (await findUserId(sql, tenantId, userPrincipalName)) ??
    failFor(`There is no user '${userPrincipalName.slice(0, 200)}'.`)
  )
}

function failFor(message: string): never {
  throw new OperatorError(message)
}
