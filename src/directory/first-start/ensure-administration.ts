import { randomBytes, randomUUID } from 'node:crypto'
import { directoryRoleTemplates } from '../../auth/directory-roles.ts'
import { knownPermissions } from '../../auth/known-permissions.ts'
import { appendChanges } from '../../db/change-log.ts'
import type { Tx } from '../../db/database.ts'
import { foldPrincipalName } from '../../kernel/fold-principal-name.ts'
import { hasPassword, setPassword } from '../accounts/password.ts'
import { voidTokens } from '../accounts/standing.ts'
import { addSecret, hasSecret, removeCredentials } from '../applications/application-secret.ts'
import {
  grantApplicationPermissions,
  listApplicationPermissions,
} from '../applications/granted-permissions.ts'
import type { Registration } from '../applications/registrations.ts'
import { type DirectoryObject, findObject, updateObject } from '../objects/object-store.ts'
import { administrationName } from './own-clients.ts'
import { type Administrator, readFirstStart } from './read-first-start.ts'
import { ensureObject, ensureRegistration, type Repairs } from './repairs.ts'

export interface AdministrationOptions {
  readonly tenantId: string
  readonly domain: string
  /** Makes a principal Owner of all that is masked, and says whether it was not. Masking holds these assignments. */
  readonly assignOwner: (tx: Tx, tenantId: string, principalId: string) => Promise<boolean>
  /** Gives the administrator another password and the application another secret in place of the ones that they have. */
  readonly newCredentials?: boolean
}

export interface Administration {
  readonly administrator: Administrator
  readonly application: Registration
  /** Undefined where the administrator keeps the one it has. */
  readonly password: string | undefined
  /** Undefined where the administrative application keeps the ones it has. */
  readonly secret: string | undefined
  /** The missing parts that were restored, in words. */
  readonly steps: readonly string[]
}

const secretLifetimeMs = 2 * 365 * 24 * 60 * 60 * 1000

/**
 * Makes sure of a working administrator and administrative application: there, enabled, Global Administrator and every
 * permission, Owner at `/`. Whatever of it is right stays as it is.
 */
export async function ensureAdministration(tx: Tx, options: AdministrationOptions): Promise<Administration> {
  const { tenantId, domain, assignOwner, newCredentials = false } = options
  const repairs: Repairs = { tx, tenantId, changes: [], steps: [] }
  const { steps } = repairs
  const first = await readFirstStart(tx, tenantId)
  await ensureOrganization(repairs, domain)
  const intact = steps.length
  const user = await ensureUser(repairs, domain, first?.administratorId)
  await ensureGlobalAdministrator(repairs, user)
  // While it was no administrator, others could set its password.
  const wasWeaker = steps.length > intact
  const application = await ensureRegistration(repairs, {
    appId: first?.applicationId ?? randomUUID(),
    displayName: administrationName,
  })
  const { appId, applicationId, servicePrincipalId } = application
  for (const principalId of [user.id, servicePrincipalId])
    if (await assignOwner(tx, tenantId, principalId)) steps.push(`made ${principalId} Owner at '/'`)
  await tx`
    insert into first_start as present (tenant_id, administrator_id, application_id, service_principal_id)
    values (${tenantId}, ${user.id}, ${appId}, ${servicePrincipalId})
    on conflict (tenant_id) do update
    set administrator_id = excluded.administrator_id, service_principal_id = excluded.service_principal_id`
  await appendChanges(tx, tenantId, repairs.changes)
  await grantEverything(repairs, servicePrincipalId)

  const needsPassword = newCredentials || wasWeaker || !(await hasPassword(tx, tenantId, user.id))
  const password = needsPassword ? randomBytes(18).toString('base64url') : undefined
  if (password !== undefined) await setPassword(tx, tenantId, user.id, password)
  if (newCredentials) await endCredentials(repairs, application)
  const needsSecret = newCredentials || !(await hasSecret(tx, tenantId, applicationId))
  const endsAt = new Date(Date.now() + secretLifetimeMs)
  const secret = needsSecret
    ? (await addSecret(tx, tenantId, applicationId, { displayName: 'First start', endsAt })).secretText
    : undefined
  const administrator = { id: user.id, userPrincipalName: String(user.properties.userPrincipalName) }
  return { administrator, application, password, secret, steps }
}

/** The operator may ask for new credentials because another person has the present ones, or a token of them. */
async function endCredentials({ tx, tenantId, steps }: Repairs, application: Registration): Promise<void> {
  await removeCredentials(tx, tenantId, application.applicationId)
  await voidTokens(tx, tenantId, application.servicePrincipalId)
  steps.push(`ended the earlier secrets, certificates and tokens of '${administrationName}'`)
}

/** The organization comes with the tables; its domain is known on the first start. */
async function ensureOrganization(repairs: Repairs, domain: string): Promise<void> {
  const { tx, tenantId, changes } = repairs
  const [present] = await tx`select from directory_object where tenant_id = ${tenantId} and id = ${tenantId}`
  if (!present) {
    await tx`
      insert into directory_object (tenant_id, id, kind, properties)
      values (${tenantId}, ${tenantId}, 'organization', '{"displayName": "Masquerade"}')`
    repairs.steps.push('created the organization')
  }
  const organization = await findObject(tx, tenantId, 'organization', tenantId, { lock: true })
  if (Array.isArray(organization.properties.verifiedDomains)) return
  const own = { name: domain, isDefault: true, isInitial: true, type: 'Managed', capabilities: '' }
  const { version } = await updateObject(tx, tenantId, organization, { verifiedDomains: [own] })
  changes.push({ entity: 'organization', entityId: tenantId, kind: 'updated', data: { version } })
}

/** Another user may have the administrator's name by now: then the administrator gets another. */
async function ensureUser(
  repairs: Repairs,
  domain: string,
  id: string | undefined,
): Promise<DirectoryObject> {
  const { tx, tenantId } = repairs
  const isSame = id === undefined ? tx`false` : tx`o.id = ${id}`
  const [known] = await tx<{ name: string | null }[]>`
    select o.user_principal_name as name from directory_object o where o.tenant_id = ${tenantId} and ${isSame}`
  const wanted = known?.name ?? `admin@${domain}`
  const taken = await tx`
    select from directory_object o
    where o.tenant_id = ${tenantId} and o.kind = 'user' and o.deleted_at is null and not (${isSame})
      and o.folded_principal_name = ${foldPrincipalName(wanted)}`
  const userPrincipalName = taken.count === 0 ? wanted : `admin-${randomBytes(4).toString('hex')}@${domain}`
  if (known && userPrincipalName !== known.name)
    await tx`
      update directory_object o
      set properties = o.properties || ${tx.json({ userPrincipalName })}::jsonb, version = o.version + 1
      where o.tenant_id = ${tenantId} and ${isSame}`
  return ensureObject(repairs, 'user', isSame, {
    displayName: 'Administrator',
    userPrincipalName,
    mailNickname: 'admin',
    accountEnabled: true,
    userType: 'Member',
  })
}

async function ensureGlobalAdministrator(repairs: Repairs, user: DirectoryObject): Promise<void> {
  const { tx, tenantId, changes, steps } = repairs
  const roleTemplateId = directoryRoleTemplates['Global Administrator']
  const isRole = tx`o.properties ->> 'roleTemplateId' = ${roleTemplateId}`
  const role = await ensureObject(repairs, 'directoryRole', isRole, {
    displayName: 'Global Administrator',
    description: 'Manages every aspect of the directory.',
    roleTemplateId,
  })
  const added = await tx`
    insert into member_edge (tenant_id, container_id, member_id) values (${tenantId}, ${role.id}, ${user.id})
    on conflict do nothing`
  if (added.count === 0) return
  changes.push({ entity: 'directoryRole', entityId: role.id, kind: 'memberAdded', data: { id: user.id } })
  steps.push(`made '${user.properties.userPrincipalName}' Global Administrator`)
}

async function grantEverything({ tx, tenantId, steps }: Repairs, servicePrincipalId: string): Promise<void> {
  const granted = await listApplicationPermissions(tx, tenantId, servicePrincipalId)
  const lacking = Object.keys(knownPermissions).filter((name) => !granted.includes(name))
  if (lacking.length === 0) return
  await grantApplicationPermissions(tx, tenantId, servicePrincipalId, lacking)
  steps.push(`granted ${lacking.length} permissions to 'Masquerade administration'`)
}
