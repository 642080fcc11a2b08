import { randomUUID } from 'node:crypto'
import { lockRightsToGive, lockRightsToRead } from '../auth/rights-lock.ts'
import { writeAudit } from '../db/audit.ts'
import type { Tx } from '../db/database.ts'
import { findActiveUser } from '../directory/accounts/find-active-user.ts'
import { addSecret, removeSecret } from '../directory/applications/application-secret.ts'
import { countHolders } from '../directory/applications/count-holders.ts'
import {
  consentPermissions,
  grantApplicationPermissions,
  listApplicationPermissions,
  revokeApplicationPermissions,
  withdrawConsent,
} from '../directory/applications/granted-permissions.ts'
import { lockNewConsent } from '../directory/applications/lock-consent.ts'
import { listOriginsFor } from '../directory/applications/redirect-origins.ts'
import {
  findRegistration,
  listRegistrations,
  type RegisteredApplication,
  registerApplication,
} from '../directory/applications/registrations.ts'
import type { JsonObject } from '../directory/entities/property.ts'
import { findObject } from '../directory/objects/object-store.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { commandOf, type ValuesOf } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { type OperatorAccess, openOperatorAccess } from './operator.ts'
import { currentSettings, report, warn } from './surroundings.ts'
import { showText } from './table.ts'

const dayMs = 24 * 60 * 60 * 1000

const options = {
  'redirect-uri': { type: 'string', multiple: true },
  'single-page': { type: 'boolean' },
  native: { type: 'boolean' },
  name: { type: 'string' },
  days: { type: 'string' },
  remove: { type: 'string' },
  permission: { type: 'string', multiple: true },
  revoke: { type: 'boolean' },
  user: { type: 'string' },
  withdraw: { type: 'boolean' },
  json: { type: 'boolean' },
} as const

export const application = commandOf({
  name: 'application',
  summary: 'Register applications, their secrets and what they may do',
  help: `
Usage: masquerade application create NAME [--redirect-uri URI …] [--single-page | --native]
       masquerade application list
       masquerade application secret APPLICATION [--name NAME] [--days N] [--remove KEY-ID]
       masquerade application grant APPLICATION --permission P … [--revoke]
       masquerade application consent APPLICATION --permission P … [--user UPN] [--withdraw]

APPLICATION is a client id, an object id or a name that only one has, be it the name of the application or of its service
principal. The client id of the one that was found is on standard error. It works for the user who can read the data directory,
while the database runs. Every change is audited.

  create    Registers an application and prints its client id. Redirect URIs are for people who sign in through it;
            a web application has a secret, a single-page one and a native one have none.
  secret    Prints a new secret, once: only its hash is kept. It lives for a year unless --days says otherwise.
  grant     Lets the application do something by itself (application permissions).
  consent   Lets the application do something for all users, or for the one named (delegated permissions).`,
  options,
  verbs: {
    create: { takes: ['NAME'], run: (values, word) => perform(create, values, word) },
    list: { run: (values) => perform(list, values, '') },
    secret: { takes: ['APPLICATION'], run: (values, word) => perform(secret, values, word) },
    grant: { takes: ['APPLICATION'], run: (values, word) => perform(grant, values, word) },
    consent: { takes: ['APPLICATION'], run: (values, word) => perform(consent, values, word) },
  },
})

type Values = ValuesOf<typeof options>

/** A result in words, and as data. */
interface Result {
  readonly words: string
  readonly data: unknown
  /** The application that the word of the operator stands for. */
  readonly found?: RegisteredApplication
}
type Perform = (access: OperatorAccess, word: string, values: Values) => Promise<Result>

async function perform(run: Perform, values: Values, word: string): Promise<number> {
  await using access = await openOperatorAccess(currentSettings())
  const { words, data, found } = await run(access, word, values)
  // On standard error: scripts read the secret from the output.
  if (found && !values.json) warn(`${showText(found.displayName)}: application ${found.appId}\n`)
  report(values, found ? { appId: found.appId, ...(data as object) } : data, `${words}\n`)
  return 0
}

const create: Perform = async (access, displayName, values) => {
  const { appId } = await change(access, 'create application', async (tx) => {
    const properties = describeClient(values)
    const registration = await registerApplication(tx, access.tenantId, { displayName, properties })
    return { result: registration, target: registration.applicationId, after: { displayName, ...properties } }
  })
  return { words: appId, data: { appId, displayName } }
}

function describeClient(values: Values): JsonObject {
  const redirectUris = values['redirect-uri'] ?? []
  for (const uri of redirectUris)
    if (!URL.canParse(uri) || uri.includes('#'))
      throw new OperatorError(`'${uri.slice(0, 200)}' is not an absolute URI.`, { exitCode: 2 })
  if (values['single-page'] && values.native)
    throw new OperatorError('--single-page and --native do not go together.', { exitCode: 2 })
  if (values['single-page']) return { spa: { redirectUris } }
  if (values.native) return { isFallbackPublicClient: true, publicClient: { redirectUris } }
  return redirectUris.length > 0 ? { web: { redirectUris } } : {}
}

const list: Perform = async ({ database, tenantId }) => {
  const data = []
  for (const { appId, displayName, servicePrincipalId } of await listRegistrations(database.sql, tenantId)) {
    const permissions = servicePrincipalId
      ? await listApplicationPermissions(database.sql, tenantId, servicePrincipalId)
      : []
    data.push({ appId, displayName, servicePrincipalId, permissions })
  }
  const lines = data.map(({ appId, displayName, servicePrincipalId, permissions }) => {
    const granted = servicePrincipalId ? permissions.join(', ') : 'no service principal'
    return `${appId}  ${showText(displayName)}${granted && `  (${granted})`}`
  })
  return { words: lines.join('\n') || 'No application is registered.', data }
}

const secret: Perform = async (access, word, values) => {
  const { tenantId } = access
  const days = Number(values.days ?? 365)
  if (!(days > 0)) throw new OperatorError('--days takes a number of days.', { exitCode: 2 })
  return change<Result>(access, values.remove ? 'remove secret' : 'add secret', async (tx) => {
    const found = await findRegistration(tx, tenantId, word)
    const { applicationId } = found
    await findObject(tx, tenantId, 'application', applicationId, { lock: true })
    if (values.remove !== undefined) {
      await removeSecret(tx, tenantId, applicationId, values.remove)
      const data = { keyId: values.remove, removed: true }
      const result = { words: 'Removed.', data, found }
      return { result, target: applicationId, before: { keyId: values.remove } }
    }
    await lockRightsToRead(tx)
    const { secretText, keyId, endsAt } = await addSecret(tx, tenantId, applicationId, {
      displayName: values.name ?? null,
      endsAt: new Date(Date.now() + days * dayMs),
    })
    const after = { keyId, endsAt: endsAt.toISOString() }
    const result = { words: secretText, data: { ...after, secretText }, found }
    return { result, target: applicationId, after }
  })
}

const grant: Perform = async (access, word, values) => {
  const { tenantId } = access
  const permissions = requirePermissions(values)
  return change(access, values.revoke ? 'revoke permissions' : 'grant permissions', async (tx) => {
    const found = await findRegistration(tx, tenantId, word)
    const servicePrincipalId = requirePrincipal(found)
    await findObject(tx, tenantId, 'servicePrincipal', servicePrincipalId, { lock: true })
    await lockRightsToGive(tx)
    const write = values.revoke ? revokeApplicationPermissions : grantApplicationPermissions
    await write(tx, tenantId, servicePrincipalId, permissions)
    const now = await listApplicationPermissions(tx, tenantId, servicePrincipalId)
    const data = { permissions: now }
    const after = values.revoke
      ? data
      : { ...data, holders: await countHolders(tx, tenantId, servicePrincipalId) }
    return { result: { words: now.join('\n'), data, found }, target: servicePrincipalId, after }
  })
}

const consent: Perform = async (access, word, values) => {
  const { tenantId } = access
  const permissions = requirePermissions(values)
  return change(access, values.withdraw ? 'withdraw consent' : 'consent', async (tx) => {
    const found = await findRegistration(tx, tenantId, word)
    const servicePrincipalId = requirePrincipal(found)
    const userId = values.user === undefined ? null : await requireUser(tx, tenantId, values.user)
    await lockNewConsent(tx, tenantId, servicePrincipalId, userId)
    await lockRightsToGive(tx)
    const write = values.withdraw ? withdrawConsent : consentPermissions
    const origins = await listOriginsFor(tx, tenantId, servicePrincipalId, userId)
    await write(tx, { tenantId, servicePrincipalId, userId, permissions, origins })
    const data = { userId, permissions }
    const words = values.withdraw ? 'Withdrawn.' : 'Consented.'
    const after = values.withdraw
      ? data
      : { ...data, holders: await countHolders(tx, tenantId, servicePrincipalId) }
    return { result: { words, data, found }, target: servicePrincipalId, after }
  })
}

interface Changed<T> {
  readonly result: T
  readonly target: string
  readonly before?: unknown
  readonly after?: unknown
}

/** A change and its audit entry: both, or neither. */
async function change<T>(
  { database, tenantId }: OperatorAccess,
  action: string,
  run: (tx: Tx) => Promise<Changed<T>>,
): Promise<T> {
  return database.transaction(async (tx) => {
    const { result, target, before, after } = await run(tx)
    const actor = { kind: 'operator', tenantId, objectId: '', applicationId: '' }
    const entry = { action, target: `/directoryObjects/${target}`, before, after }
    await writeAudit(tx, actor, randomUUID(), entry)
    return result
  })
}

function requirePermissions({ permission = [] }: Values): readonly string[] {
  if (permission.length === 0) throw new OperatorError('Name at least one --permission.', { exitCode: 2 })
  return permission
}

/** The object that permissions are granted to. */
function requirePrincipal({ appId, displayName, servicePrincipalId }: RegisteredApplication): string {
  if (servicePrincipalId !== null) return servicePrincipalId
  throw new OperatorError(
    `The application ${appId}, '${displayName.slice(0, 200)}', has no service principal to grant to. POST /servicePrincipals makes it one.`,
    { exitCode: exitCodes.notFound },
  )
}

async function requireUser(tx: Tx, tenantId: string, userPrincipalName: string): Promise<string> {
  const user = await findActiveUser(tx, tenantId, { userPrincipalName })
  if (!user)
    throw new OperatorError(`There is no user '${userPrincipalName.slice(0, 200)}'.`, {
      exitCode: exitCodes.notFound,
    })
  return user.id
}
