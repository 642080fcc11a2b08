import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import type { Json, JsonObject } from '../entities/property.ts'
import {
  type CustomProperties,
  failValue,
  isAnnotation,
  readChangedProperties,
} from '../entities/read-properties.ts'
import { group, standAloneProperties } from './kinds/group.ts'
import type { DirectoryObject } from './object-store.ts'

/** Properties that unified groups alone have. */
const unifiedProperties = ['assignedLabels', 'visibility']

/** The property of a body that must come in a request of its own; refuses it together with others. */
export function findStandAlone(body: JsonObject, hasCompany: boolean): string | undefined {
  const names = Object.keys(body).filter((name) => !isAnnotation(name))
  const alone = names.find((name) => Object.hasOwn(standAloneProperties, name))
  if (alone !== undefined && (hasCompany || names.length > 1))
    fail('StandAloneProperty', { property: alone }, { target: alone })
  return alone
}

/** The changes that a body makes to a group; null clears a property. */
export function readGroupChanges(
  stored: DirectoryObject,
  body: JsonObject,
  custom: CustomProperties,
): JsonObject {
  const sent = readChangedProperties(group, body, custom, stored)
  const changes = { ...sent, ...recalculate(sent, stored.properties) }
  checkTogether(sent, { ...stored.properties, ...changes })
  return changes
}

/** Refuses properties of a body that do not fit the group as it would be after the write. */
export function checkTogether(sent: JsonObject, after: JsonObject): void {
  if (sent.autoSubscribeNewMembers === true && after.subscriptionEnabled === false)
    failValue(group, 'autoSubscribeNewMembers')
  for (const name of unifiedProperties) if (!isEmpty(sent[name]) && !isUnified(after)) failValue(group, name)
  if (sent.securityEnabled === false && after.isAssignableToRole === true) failValue(group, 'securityEnabled')
}

/** False for null where there is no value: clients send the group back as they read it. */
export function setsDataLocation({ properties }: DirectoryObject, changes: JsonObject): boolean {
  const { preferredDataLocation: location } = changes
  return location === null ? properties.preferredDataLocation !== undefined : location !== undefined
}

/** DIR-215: rules of membership are not evaluated, so they are refused and never accepted without effect. */
export function refuseDynamic({
  groupTypes,
  membershipRule,
  membershipRuleProcessingState,
}: JsonObject): void {
  const isDynamic = Array.isArray(groupTypes) && groupTypes.includes('DynamicMembership')
  const hasRule = [membershipRule, membershipRuleProcessingState].some(
    (value) => value !== undefined && value !== null,
  )
  if (isDynamic || hasRule) fail('DynamicMembershipRefused')
}

/** The changes that follow from those in the body. */
function recalculate(sent: JsonObject, stored: JsonObject): JsonObject {
  const after = { ...stored, ...sent }
  // Without subscriptions a group subscribes no new members.
  const endsSubscription = sent.subscriptionEnabled === false && stored.autoSubscribeNewMembers === true
  return {
    ...(endsSubscription && { autoSubscribeNewMembers: null }),
    ...(sent.groupTypes !== undefined && !isUnified(after) && clearUnified(sent, stored)),
  }
}

function isUnified({ groupTypes }: JsonObject): boolean {
  return Array.isArray(groupTypes) && groupTypes.includes('Unified')
}

function clearUnified(sent: JsonObject, stored: JsonObject): JsonObject {
  const lost = unifiedProperties.filter((name) => sent[name] === undefined && !isEmpty(stored[name]))
  return Object.fromEntries(lost.map((name) => [name, null]))
}

function isEmpty(value: Json | undefined): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
}

/** The changes to a group's mail address, which is made of its alias and the tenant's domain. */
export async function recalculateMail(
  tx: Query,
  tenantId: string,
  before: JsonObject,
  changes: JsonObject,
): Promise<JsonObject> {
  if (changes.mailEnabled === undefined && changes.mailNickname === undefined) return {}
  const { mailEnabled, mailNickname } = { ...before, ...changes }
  if (mailEnabled !== true) return before.mail === undefined ? {} : { mail: null, proxyAddresses: null }
  const domain = await findDomain(tx, tenantId)
  if (domain === undefined) return {}
  const mail = `${String(mailNickname)}@${domain}`
  return mail === before.mail ? {} : { mail, proxyAddresses: [`SMTP:${mail}`] }
}

async function findDomain(tx: Query, tenantId: string): Promise<string | undefined> {
  const [row] = await tx<{ name: string }[]>`
    select domain ->> 'name' as name
    from directory_object, jsonb_array_elements(properties -> 'verifiedDomains') as domain
    where tenant_id = ${tenantId} and id = ${tenantId} and domain -> 'isDefault' = 'true' limit 1`
  return row?.name
}
