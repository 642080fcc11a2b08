import type { RequestFacts } from '../../api/operation.ts'
import type { Caller } from '../../auth/caller.ts'
import { lockRightsToGive } from '../../auth/rights-lock.ts'
import type { Finding, Preflight } from '../../contracts/preflight.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { type SecretBox, SecretBoxError } from '../../kernel/secret-box.ts'
import { isSameAddress, type MayRead, refuseBound, refuseSecondBinding } from '../binding/bind-once.ts'
import {
  type BindingInput,
  bindingStem,
  readBinding,
  requireHosts,
  sharesSecret,
} from '../binding/binding.ts'
import type { Binding } from '../binding/binding-address.ts'
import { ownStoreReason, secretPlace } from '../binding/bound-catalog.ts'
import { claimNames, type GatewayName, readNames } from '../binding/gateway-names.ts'
import { checkConditions } from '../entity-tag.ts'
import { failOn } from '../faults.ts'
import {
  databaseApiVersions,
  type MaskingPorts,
  operation,
  withEnforcement,
  withoutBinding,
} from '../operation.ts'
import { databasePath, readDatabasePlace, scopeOf } from '../place.ts'
import { answerStored, auditChange, type Site, siteOf } from '../resource.ts'
import { requireRole } from '../role-assignments/confirm-role.ts'
import { ruleRows } from '../rules/rule.ts'
import { readTracked } from '../tracked-resource.ts'
import {
  databaseAnswer,
  databaseInput,
  renderAudited,
  renderConnection,
  renderDatabase,
  renderPreflight,
} from './database.ts'
import { type DatabaseRow, findDatabase, lockOrCreateDatabase, requireServer } from './database-row.ts'
import { refuseWhileMasked } from './refuse-while-masked.ts'

const action = 'Vendor.Sql/servers/databases/write'

export const createOrUpdateDatabase = operation({
  name: 'createOrUpdateDatabase',
  clause: 'MASK-107',
  summary: 'Declare a database, and bind it to a real PostgreSQL database',
  method: 'PUT',
  path: databasePath,
  apiVersions: databaseApiVersions,
  permission: { action, scope: scopeOf },
  body: databaseInput,
  answers: { 200: databaseAnswer, 201: databaseAnswer },

  /** Tries the connection, so that the answer can say at once what is wrong with it. */
  async prepare({ params, body, caller, tx, request, ports }): Promise<Tried | null> {
    const place = readDatabasePlace(params)
    const input = body.properties?.binding
    if (!input) return null
    const before = await findDatabase(tx, caller.tenantId, place)
    const binding = readBinding(input, request.apiVersion, before?.binding)
    await requireHosts(ports.guard, binding)
    const password = choosePassword(before, binding, input, ports.secrets)
    const rules = before ? await ruleRows.list(tx, before.id) : []
    const tables = rules.map(({ schemaName, tableName }) => ({ schema: schemaName, table: tableName }))
    const reached = await ports.catalogs.greet(binding, password, tables)
    if ('unreachable' in reached && reached.unreachable === ownStoreReason)
      refuseUnfit([{ code: 'OwnStore', message: ownStoreMessage, statements: [] }])
    if ('unreachable' in reached) await refuseUnreached(reached.unreachable, before, request, ports)
    if ('value' in reached) {
      const own = { id: before?.id, tenantId: caller.tenantId }
      const strange = await refuseMaskedByOther(tx, own, reached.value, readerOf(tx, caller, ports))
      refuseUnfit([...strange, ...reached.value.refusals])
    }
    return { connection: renderConnection(reached), preflight: renderPreflight(reached) }
  },

  async run(context, tried) {
    const site = siteOf(context)
    const { tx, tenantId, ports } = site
    const place = readDatabasePlace(site.params)
    const { location, tags } = readTracked(context.body)
    if (ports.strict) await requireServer(site, place)
    const before = await lockOrCreateDatabase(site, action)
    checkConditions(site.request, before.declared ? before.version : null)
    const input = context.body.properties?.binding
    const mayWrite = async (scope: string) => {
      const may = await ports.mayAct(tx, context.caller, action, scope)
      if (may) context.askAgain(scope, (aside) => requireRole({ ...context, tx: aside }, action, scope))
      return may
    }
    if (input === null) await refuseWhileMasked(tx, before)
    const sealed = input && seal(before, input, site)
    if (sealed)
      await refuseSecondBinding(
        tx,
        { id: before.id, tenantId },
        sealed.binding,
        readerOf(tx, context.caller, ports),
      )
    const keepsReached =
      before.reached && input !== null && (!sealed || isSameAddress(before.binding, sealed.binding))
    const reached = keepsReached || tried?.connection.state === 'Reachable'
    const names = sealed && (await nameAtGateway(tx, tenantId, before.place, reached, mayWrite))
    const after = {
      ...before,
      location: location ?? before.location,
      tags: tags ?? before.tags,
      reached,
      ...(input === null && { binding: null, bindingSecret: null, bound: false, gatewayName: null }),
      ...(sealed && names && { ...sealed, gatewayName: names.name }),
    }
    const version = await store(tx, after, { isSent: input !== undefined, keepsReached })
    auditChange(context.audit, action, renderAudited, before.declared ? before : null, after)
    const shown = renderDatabase(after, site.namespace, site.apiVersion)
    const full =
      tried && names ? { ...shown, properties: { ...shown.properties, ...warnOfName(tried, names) } } : shown
    const answer = answerStored(full, version, !before.declared)
    if (before.bound && !after.bound) return withoutBinding(answer, before.id, ports)
    return withEnforcement(answer, after, ports, true)
  },
})

const ownStoreMessage = 'It is the database of this service itself. Bind another one.'

interface Tried {
  readonly connection: ReturnType<typeof renderConnection>
  readonly preflight: ReturnType<typeof renderPreflight>
}

/** Says so when clients of the gateway have to name the database with its server or more. */
function warnOfName(tried: Tried, { name, isTaken }: GatewayName): Tried {
  if (!isTaken) return tried
  const message = `Clients reach it through the gateway as '${name}': shorter names belong to databases that were bound before.`
  const warning = { code: 'ShortNameTaken', message, statements: [] }
  return { ...tried, preflight: { warnings: [...tried.preflight.warnings, warning] } }
}

function nameAtGateway(
  tx: Query,
  tenantId: string,
  place: DatabaseRow['place'],
  isReached: boolean,
  mayWrite: (scope: string) => Promise<boolean>,
): Promise<GatewayName> {
  return isReached ? claimNames(tx, tenantId, place, mayWrite) : readNames(tx, tenantId, place)
}

/** A caller may ask that a binding works, or that none that works is replaced by one that does not. */
async function refuseUnreached(
  reason: string,
  before: DatabaseRow | null,
  { preferences }: RequestFacts,
  { catalogs }: MaskingPorts,
): Promise<void> {
  const refuse = (suffix = '') =>
    failOn(
      'InvalidBinding',
      [{ field: 'host', reason: `does not let us in: ${reason}${suffix}` }],
      bindingStem,
    )
  if (preferences.has('reachable')) refuse()
  if (!before?.bound || !preferences.has('keep-working')) return
  if ('value' in (await catalogs.findRoles(before, []))) refuse('. The present binding works, and stays')
}

/** Masks that would not hold are worse than none: what has to be put right first is said, as statements. */
function refuseUnfit(refusals: Preflight['refusals']): void {
  if (refusals.length === 0) return
  const details = refusals.map(({ code, message, statements }) => ({
    code,
    message: statements.length > 0 ? `${message} Run: ${statements.join('; ')};` : message,
    target: 'properties.binding',
  }))
  const reason = details.map(({ message }) => message).join(' ')
  fail('UnfitBinding', { reason }, { target: 'properties.binding', details })
}

/** The same database may have several addresses: the mark of its masks tells whose they are. */
async function refuseMaskedByOther(
  tx: Query,
  own: { readonly id: string | undefined; readonly tenantId: string },
  { owner }: Preflight,
  mayRead: MayRead,
): Promise<Finding[]> {
  if (!owner || owner.id === own.id) return []
  await refuseBound(tx, own.tenantId, owner.id, 'masked', mayRead)
  return [owner.unknown]
}

function readerOf(tx: Query, caller: Caller, { mayAct }: MaskingPorts): MayRead {
  return (target) => mayAct(tx, caller, 'Vendor.Sql/servers/databases/read', target)
}

/**
 * Keeps a password that the caller does not send again only for the same server, user and protection. Otherwise a
 * caller could send the stored password to a server of their choice.
 */
function choosePassword(
  before: DatabaseRow | null,
  binding: Binding,
  { password }: BindingInput,
  secrets: SecretBox,
): string {
  if (password !== undefined) return password ?? ''
  if (!before?.binding || !before.bindingSecret) return ''
  if (!sharesSecret(before.binding, binding))
    refusePassword('must be sent again when host, port, user or TLS of the binding change')
  try {
    return secrets.open(secretPlace(before.id), before.bindingSecret)
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error
    return refusePassword('must be sent again: it was stored under another secret key')
  }
}

function refusePassword(reason: string): never {
  failOn('InvalidBinding', [{ field: 'password', reason }], bindingStem)
  return fail('InternalServerError')
}

function seal(
  before: DatabaseRow,
  input: BindingInput,
  { apiVersion, ports: { secrets } }: Site,
): { readonly binding: Binding; readonly bindingSecret: Uint8Array | null; readonly bound: true } {
  const binding = readBinding(input, apiVersion, before.binding)
  const password = choosePassword(before, binding, input, secrets)
  const bindingSecret = password === '' ? null : secrets.seal(secretPlace(before.id), password)
  return { binding, bindingSecret, bound: true }
}

async function store(
  tx: Query,
  database: DatabaseRow,
  binds: { readonly isSent: boolean; readonly keepsReached: boolean },
): Promise<number> {
  const binding = database.binding && tx.json(database.binding)
  // DIR-290: exempt lists and mappings of the database count from its first login on.
  if (database.reached && !binds.keepsReached) await lockRightsToGive(tx)
  const [row] = await tx<{ version: number }[]>`
    update masked_database set declared = true, location = ${database.location}, tags = ${tx.json(database.tags)},
      binding = ${binding}, binding_secret = ${database.bindingSecret},
      binding_version = binding_version + ${binds.isSent ? 1 : 0},
      binding_reached_at = case when ${binds.keepsReached} then binding_reached_at when ${database.reached} then now() end,
      binding_system = case when ${binds.isSent} then null else binding_system end,
      version = nextval('resource_version')
    where id = ${database.id} returning version`
  return row?.version ?? 0
}
