import { randomUUID, sign } from 'node:crypto'
import { directoryRoleTemplates } from '../../src/auth/directory-roles.ts'
import { consumerTenantId } from '../../src/auth/identity.ts'
import { issueTimeClaim } from '../../src/auth/issue-time.ts'
import type { MaskingRole } from '../../src/auth/masking-roles.ts'
import { normalizeScope } from '../../src/auth/role-assignments.ts'
import { accessTokenType } from '../../src/auth/signing-keys.ts'
import type { Service } from '../../src/main.ts'

export interface TokenRequest {
  readonly permissions?: readonly string[]
  readonly kind?: 'delegated' | 'application'
  /** Object id of a user or service principal that the directory holds. Absent: one that the support keeps. */
  readonly principal?: string
  readonly personal?: boolean
  /** Template ids of directory roles. Absent: none for a named principal, Global Administrator for the usual one. */
  readonly directoryRoles?: readonly string[]
  /** Client id. One that the directory does not know is registered. */
  readonly applicationId?: string
  /** A principal of its own with this role; the scope is `/` unless said. */
  readonly role?: MaskingRole
  readonly scope?: string
}

/**
 * The exact time of a token that the test revokes. It is a millisecond that had not begun: a token of the millisecond of a
 * revocation is void, and tests make both in one.
 */
export function issuedNow(): { readonly [issueTimeClaim]: number } {
  const before = Date.now()
  while (Date.now() === before);
  return { [issueTimeClaim]: Date.now() }
}

/** For tests that are about something else than the rights of people. */
export const globalAdministrator: readonly string[] = [directoryRoleTemplates['Global Administrator']]

/** Tests that are about something else than the rights of people use the usual caller, who has them all. */
function usualRoles({ principal, role, personal }: TokenRequest): readonly string[] {
  return principal || role || personal ? [] : globalAdministrator
}

export type Claims = Record<string, unknown>

/** Makes tokens as the service's own issuer does, without a sign-in. */
export async function createTokens({ database: { sql }, store: { tenantId }, auth }: Service) {
  const pending: Promise<unknown>[] = []
  const applications = new Set<string>()

  function addObject(kind: string, id: string, properties: Record<string, unknown>): Promise<unknown> {
    return sql`
      insert into directory_object (tenant_id, id, kind, properties, created_at)
      values (${tenantId}, ${id}, ${kind}, ${sql.json(properties)}, now() - interval '1 day')
      on conflict do nothing`.then(() => {})
  }
  function addUser(id: string): Promise<unknown> {
    const userPrincipalName = `caller-${id}@example.com`
    return addObject('user', id, { displayName: 'Test caller', userPrincipalName, accountEnabled: true })
  }
  function addApplication(appId: string, id: string = randomUUID()): Promise<unknown> {
    if (applications.has(appId)) return Promise.resolve()
    applications.add(appId)
    return addObject('servicePrincipal', id, { displayName: 'Test client', appId, accountEnabled: true })
  }
  /** Assigns the role to a new principal, so that no other test's token has it. */
  function addPrincipalWithRole(kind: string, role: MaskingRole, scope: string): string {
    const id = randomUUID()
    const added = kind === 'application' ? addApplication(randomUUID(), id) : addUser(id)
    const assign = async () => {
      await added
      await sql`
        insert into role_assignment (id, tenant_id, scope, shown_scope, role, principal_id)
        values (${randomUUID()}, ${tenantId}, ${normalizeScope(scope)}, ${scope}, ${role}, ${id})`
    }
    pending.push(assign())
    return id
  }

  const shared = { user: randomUUID(), servicePrincipal: randomUUID(), appId: randomUUID() }
  await addUser(shared.user)
  await addApplication(shared.appId, shared.servicePrincipal)

  /** Any claims under our signature; `header` replaces parts of the header. */
  function signToken(claims: Claims, header: Claims = {}): string {
    const { kid, privateKey } = auth.signingKeys.current()
    const encode = (part: Claims) => Buffer.from(JSON.stringify(part)).toString('base64url')
    const signed = `${encode({ alg: 'ES256', typ: accessTokenType, kid, ...header })}.${encode(claims)}`
    const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' })
    return `${signed}.${signature.toString('base64url')}`
  }

  function claimsFor(request: TokenRequest): Claims {
    const { kind = 'delegated', role, scope = '/', applicationId = shared.appId } = request
    if (request.applicationId) pending.push(addApplication(request.applicationId.toLowerCase()))
    const usual = kind === 'delegated' ? shared.user : shared.servicePrincipal
    const oid = request.principal ?? (role ? addPrincipalWithRole(kind, role, scope) : usual)
    const now = Math.floor(Date.now() / 1000)
    const scopes = [...(request.permissions ?? []), ...(role ? ['user_impersonation'] : [])]
    return {
      iss: auth.identity.issuer(),
      aud: auth.identity.origin(),
      iat: now,
      nbf: now,
      exp: now + 3600,
      tid: request.personal ? consumerTenantId : tenantId,
      oid,
      sub: oid,
      azp: applicationId,
      ...(kind === 'delegated'
        ? { idtyp: 'user', scp: scopes.join(' '), wids: request.directoryRoles ?? usualRoles(request) }
        : { idtyp: 'app', roles: request.permissions ?? [] }),
    }
  }

  return {
    shared,
    claimsFor,
    signToken,
    tokenFor: (request: TokenRequest): string => signToken(claimsFor(request)),
    /**
     * Resolves when the directory objects behind the tokens so far are in the database. The support's requests wait for
     * it by themselves.
     */
    async settled(): Promise<void> {
      await Promise.all(pending.splice(0))
    },
  }
}
