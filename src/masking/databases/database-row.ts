import { randomUUID } from 'node:crypto'
import type { Fragment, Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import type { Binding } from '../binding/binding-address.ts'
import { gatewayNameColumn } from '../binding/gateway-names.ts'
import type { KeyRange } from '../page.ts'
import { type DatabasePlace, idOf, keyOf, readDatabasePlace } from '../place.ts'
import type { Site } from '../resource.ts'
import { lockAssignments, requireRole } from '../role-assignments/confirm-role.ts'
import { isKeyWithin } from '../within-scopes.ts'

export interface DatabaseRow {
  readonly id: string
  readonly place: DatabasePlace
  readonly declared: boolean
  readonly createdAt: Date
  readonly location: string
  readonly tags: Readonly<Record<string, string>>
  readonly binding: Binding | null
  readonly bindingSecret: Uint8Array | null
  readonly bindingVersion: number
  /** The cluster of several hosts, by its system identifier; null: it is not known yet. */
  readonly bindingSystem: string | null
  readonly bound: boolean
  /** The binding has logged in to this address. */
  readonly reached: boolean
  /** The shortest name that leads to it at the gateway; null while it is not bound. */
  readonly gatewayName: string | null
  readonly policyState: 'Enabled' | 'Disabled'
  readonly policyStateChosen: boolean
  /** `Observe`: nothing is enforced, and the gateway records who would see masks. */
  readonly policyMode: 'Enforce' | 'Observe'
  readonly exemptPrincipals: string
  /** What becomes of writes that add masks which would not contain every role. */
  readonly notContained: 'report' | 'refuse'
  readonly policyVersion: number
  readonly version: number
}

type Stored = Omit<DatabaseRow, 'place' | 'bound'> & DatabasePlace

/** The location of a resource whose request names none. */
export const defaultLocation = 'local'

const databaseColumns = (tx: Query) => tx`
  id, subscription_id as "subscriptionId", resource_group as "resourceGroupName", server_name as "serverName",
  name as "databaseName", declared, created_at as "createdAt", location, tags, binding, binding_secret as "bindingSecret",
  binding_version as "bindingVersion", binding_system as "bindingSystem", binding_reached_at is not null as reached, policy_state as "policyState", policy_state_chosen as "policyStateChosen", policy_mode as "policyMode",
  exempt_principals as "exemptPrincipals", not_contained as "notContained", policy_version as "policyVersion", version,
  ${gatewayNameColumn(tx)} as "gatewayName"`

function asDatabaseRow(stored: Stored): DatabaseRow {
  const { subscriptionId, resourceGroupName, serverName, databaseName, ...rest } = stored
  const place = { subscriptionId, resourceGroupName, serverName, databaseName }
  return { ...rest, place, bound: stored.binding !== null }
}

/**
 * With a lock for a change: every write to a database, its policy or its rules takes it first, so that writes to one
 * database happen one after the other, each seeing what the one before it left.
 */
export async function findDatabase(
  tx: Query,
  tenantId: string,
  place: DatabasePlace,
  isChange = false,
): Promise<DatabaseRow | null> {
  const [row] = await tx<Stored[]>`
    select ${databaseColumns(tx)} from masked_database where tenant_id = ${tenantId} and key = ${keyOf(place)}
    ${isChange ? tx`for update` : tx``}`
  return row ? asDatabaseRow(row) : null
}

/** The same lock for a statement that changes what belongs to a database, as a query to be put into it. */
export function lockDatabase(tx: Query, id: string): Fragment {
  return tx`select id from masked_database where id = ${id} for no key update`
}

export async function selectDatabases(
  tx: Query,
  tenantId: string,
  range: KeyRange & { readonly position: string },
  limit: number,
  scopes: readonly string[] = ['/'],
): Promise<DatabaseRow[]> {
  const rows = await tx<Stored[]>`
    select ${databaseColumns(tx)} from masked_database
    where tenant_id = ${tenantId} and key > ${range.after} and key < ${range.before} and key > ${range.position}
      and ${isKeyWithin(tx, scopes)}
    order by key limit ${limit}`
  return rows.map(asDatabaseRow)
}

/** A write that had its lock so soon has not waited: its caller is asked about before the commit alone. */
const waitMs = 20

/** The database of the path, locked, and created where there is none. `action` is the one that the request was permitted. */
export async function lockOrCreateDatabase(site: Site, action: string): Promise<DatabaseRow> {
  const { tx, tenantId, params } = site
  const place = readDatabasePlace(params)
  const from = performance.now()
  const known = await findDatabase(tx, tenantId, place, true)
  const database = known ?? (await createDatabase(site, place))
  if (!known || performance.now() - from > waitMs) await requireRole(site, action)
  return database
}

async function createDatabase({ tx, tenantId }: Site, place: DatabasePlace): Promise<DatabaseRow> {
  // The role may end with an earlier database of this name.
  await lockAssignments(tx)
  // SVC-123: the start of the transaction may be earlier than audit entries of that database (MASK-161).
  await tx`
    insert into masked_database
      (id, tenant_id, key, subscription_id, resource_group, server_name, name, location, created_at)
    values (${randomUUID()}, ${tenantId}, ${keyOf(place)}, ${place.subscriptionId}, ${place.resourceGroupName},
      ${place.serverName}, ${place.databaseName}, ${defaultLocation}, clock_timestamp())
    on conflict (tenant_id, key) do nothing`
  // Nothing again only when another request created and deleted it in between.
  return (
    (await findDatabase(tx, tenantId, place, true)) ??
    fail('Conflict', { reason: 'The database was deleted meanwhile.' })
  )
}

/** The database of the path. In strict mode nothing hangs on a server or database that was not declared. */
export async function findDeclared(site: Site, isChange = false): Promise<DatabaseRow | null> {
  const place = readDatabasePlace(site.params)
  const database = await findDatabase(site.tx, site.tenantId, place, isChange)
  if (!site.ports.strict) return database
  await requireServer(site, place)
  if (!database?.declared) fail('ParentResourceNotFound', { id: idOf(place, site.namespace) })
  return database
}

export async function requireServer({ tx, tenantId, namespace }: Site, place: DatabasePlace): Promise<void> {
  const { databaseName: _, ...server } = place
  const [row] = await tx`select 1 from server where tenant_id = ${tenantId} and key = ${keyOf(server)}`
  if (!row) fail('ParentResourceNotFound', { id: idOf(server, namespace) })
}
