import { randomBytes, randomUUID } from 'node:crypto'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { directoryRoleTemplates } from '../../auth/directory-roles.ts'
import { knownPermissions } from '../../auth/known-permissions.ts'
import { writeAudit } from '../../db/audit.ts'
import { appendChanges, type Change } from '../../db/change-log.ts'
import type { Database, Tx } from '../../db/database.ts'
import type { Query } from '../../db/query.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { setPassword } from '../accounts/password.ts'
import { addSecret } from '../applications/application-secret.ts'
import { grantApplicationPermissions } from '../applications/granted-permissions.ts'
import { registerApplication } from '../applications/registrations.ts'

export interface BootstrapOptions {
  readonly database: Database
  readonly tenantId: string
  readonly domain: string
  readonly dataDir: string
  /** Makes a principal Owner of all that is masked; masking holds these assignments. */
  readonly assignOwner: (tx: Tx, tenantId: string, principalId: string) => Promise<void>
}

/** Nodes that start together queue on it; the number only has to be ours. */
const advisoryLock = 7_208_951_146
const secretLifetimeMs = 2 * 365 * 24 * 60 * 60 * 1000

export const passwordFileName = 'administrator-password'
export const applicationFileName = 'administrator-application.json'

/** The administrator of the first start, under its present name. */
export interface Administrator {
  readonly id: string
  readonly userPrincipalName: string
}

/** Creates, once, what a first call needs: the organization, an administrator, an administrative application. */
export async function bootstrap(options: BootstrapOptions): Promise<Administrator | undefined> {
  const { database, tenantId } = options
  if (!(await readFirstStart(database.sql, tenantId)))
    await database.transaction(async (tx) => {
      await tx`select pg_advisory_xact_lock(${advisoryLock})`
      if (!(await readFirstStart(tx, tenantId))) await createFirst(tx, options)
    })
  return findAdministrator(database.sql, tenantId)
}

export async function findAdministrator(sql: Query, tenantId: string): Promise<Administrator | undefined> {
  const [row] = await sql<{ id: string; user_principal_name: string }[]>`
    select account.id, account.user_principal_name
    from first_start join directory_object account
      on account.tenant_id = first_start.tenant_id and account.id = first_start.administrator_id
    where first_start.tenant_id = ${tenantId} and account.deleted_at is null`
  return row && { id: row.id, userPrincipalName: row.user_principal_name }
}

export interface FirstStart {
  readonly administratorId: string
  /** The client id of the administrative application. */
  readonly applicationId: string
  readonly servicePrincipalId: string
}

/** What the first start created, whatever became of it; undefined before it. */
export async function readFirstStart(sql: Query, tenantId: string): Promise<FirstStart | undefined> {
  const [row] = await sql<FirstStart[]>`
    select administrator_id as "administratorId", application_id as "applicationId",
      service_principal_id as "servicePrincipalId"
    from first_start where tenant_id = ${tenantId}`
  return row
}

/** Writes the secrets to disk before the transaction ends: no account is created whose secret is lost. */
async function createFirst(
  tx: Tx,
  { tenantId, domain, dataDir, assignOwner }: BootstrapOptions,
): Promise<void> {
  const password = randomBytes(18).toString('base64url')
  const administratorId = await createAdministrator(tx, tenantId, domain, password)
  const application = await registerApplication(tx, tenantId, { displayName: 'Masquerade administration' })
  const { appId, applicationId, servicePrincipalId } = application
  const endsAt = new Date(Date.now() + secretLifetimeMs)
  const { secretText } = await addSecret(tx, tenantId, applicationId, { displayName: 'First start', endsAt })
  await grantApplicationPermissions(tx, tenantId, servicePrincipalId, Object.keys(knownPermissions))
  await assignOwner(tx, tenantId, administratorId)
  await assignOwner(tx, tenantId, servicePrincipalId)
  await tx`
    insert into first_start (tenant_id, administrator_id, application_id, service_principal_id)
    values (${tenantId}, ${administratorId}, ${appId}, ${servicePrincipalId})`
  const actor = { kind: 'service', tenantId, objectId: servicePrincipalId, applicationId: appId }
  const after = { administratorId, ...application }
  await writeAudit(tx, actor, 'first-start', { action: 'firstStart', target: '/organization', after })
  writeSecret(join(dataDir, passwordFileName), password)
  const credentials = { tenantId, clientId: appId, clientSecret: secretText }
  writeSecret(join(dataDir, applicationFileName), JSON.stringify(credentials, null, 2))
}

async function createAdministrator(
  tx: Tx,
  tenantId: string,
  domain: string,
  password: string,
): Promise<string> {
  const add = async (kind: string, properties: object): Promise<string> => {
    const id = randomUUID()
    await tx`
      insert into directory_object (tenant_id, id, kind, properties)
      values (${tenantId}, ${id}, ${kind}, ${tx.json(properties)})`
    return id
  }
  // The organization came with the tables; what it is called is known only now.
  await tx`
    update directory_object set version = version + 1,
      properties = properties || ${tx.json(describeOrganization(domain))}::jsonb
    where tenant_id = ${tenantId} and id = ${tenantId}`
  const userId = await add('user', {
    displayName: 'Administrator',
    userPrincipalName: `admin@${domain}`,
    mailNickname: 'admin',
    accountEnabled: true,
    userType: 'Member',
  })
  const roleId = await add('directoryRole', {
    displayName: 'Global Administrator',
    description: 'Manages every aspect of the directory.',
    roleTemplateId: directoryRoleTemplates['Global Administrator'],
  })
  await tx`
    insert into member_edge (tenant_id, container_id, member_id) values (${tenantId}, ${roleId}, ${userId})`
  await setPassword(tx, tenantId, userId, password)
  const created = (entity: string, entityId: string): Change => ({
    entity,
    entityId,
    kind: 'created',
    data: { version: 1 },
  })
  await appendChanges(tx, tenantId, [
    { entity: 'organization', entityId: tenantId, kind: 'updated', data: { version: 2 } },
    created('user', userId),
    created('directoryRole', roleId),
    { entity: 'directoryRole', entityId: roleId, kind: 'memberAdded', data: { id: userId } },
  ])
  return userId
}

function describeOrganization(domain: string) {
  return {
    verifiedDomains: [{ name: domain, isDefault: true, isInitial: true, type: 'Managed', capabilities: '' }],
  }
}

function writeSecret(file: string, text: string): void {
  const draft = `${file}.new`
  try {
    writeFileSync(draft, `${text}\n`, { mode: 0o600, flush: true })
    renameSync(draft, file)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new OperatorError(`${file} cannot be written (${code}).`, { cause })
  }
}
