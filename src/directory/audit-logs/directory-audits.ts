import { selectDirectoryAudits } from '../../db/audit.ts'
import type { Fragment, Query } from '../../db/query.ts'
import type { Json, JsonObject } from '../entities/property.ts'
import type { ReadOnlySet } from '../entities/read-only-set.ts'
import { namespace } from '../entities/show-entity.ts'
import { isJsonObject } from '../entities/storable.ts'
import { type Field, type Fields, fieldsOf } from '../odata/field.ts'
import { auditLogPermission, requireAuditReader } from './audit-readers.ts'

const text = { type: 'string' } as const
const actor = { id: text, displayName: text }
const target = { ...actor, type: text, userPrincipalName: text, groupType: text }

const properties = {
  id: { type: 'guid', derive: ({ id }) => id },
  category: text,
  correlationId: text,
  result: text,
  resultReason: text,
  activityDisplayName: text,
  activityDateTime: { type: 'dateTime', column: 'created_at', index: 'order' },
  loggedByService: text,
  operationType: text,
  initiatedBy: {
    type: {
      object: {
        user: { type: { object: { ...actor, userPrincipalName: text, ipAddress: text } } },
        app: {
          type: {
            object: { appId: text, displayName: text, servicePrincipalId: text, servicePrincipalName: text },
          },
        },
      },
    },
  },
  targetResources: {
    type: {
      objects: {
        ...target,
        modifiedProperties: { type: { objects: { displayName: text, oldValue: text, newValue: text } } },
      },
    },
    derive: ({ properties: { targetResources, before, after } }) =>
      [targetResources ?? []].flat().map((one) => ({
        ...(one as JsonObject),
        modifiedProperties: listNames(after ?? before) ?? listChanges(asObject(before), asObject(after)),
      })),
  },
  additionalDetails: { type: { objects: { key: text, value: text } } },
} as const satisfies ReadOnlySet['properties']

/** The columns of the source that a filter on the initiator goes by. */
const initiators = {
  'initiatedBy/user/id': 'user_id',
  'initiatedBy/user/displayName': 'user_display_name',
  'initiatedBy/user/userPrincipalName': 'user_principal_name',
  'initiatedBy/app/appId': 'app_id',
  'initiatedBy/app/displayName': 'app_display_name',
  'initiatedBy/app/servicePrincipalId': 'service_principal_id',
} as const

const fields: Fields = new Map<string, Field>([
  ...fieldsOf([{ properties }], { columns: {}, filterAll: true }),
  ...Object.entries(initiators).map(([name, column]): [string, Field] => [
    name.toLowerCase(),
    { name, type: 'text', sqlOf: (row) => `${row}.${column}`, filter: true, sort: false },
  ]),
  [
    'targetresources',
    {
      name: 'targetResources',
      type: 'objects',
      sqlOf: (row) => `${row}.properties -> 'targetResources'`,
      filter: true,
      sort: false,
      items: target,
    },
  ],
])

function asObject(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

/** The changed properties of private contents, whose entries hold an array of names; undefined for all others. */
function listNames(names: Json | undefined): Json[] | undefined {
  return Array.isArray(names)
    ? names.map((displayName) => ({ displayName, oldValue: null, newValue: null }))
    : undefined
}

/** Old and new values as JSON texts. Secrets are in no entry of the audit trail. */
function listChanges(before: JsonObject, after: JsonObject): Json[] {
  const textOf = (value: Json | undefined) => (value === undefined ? null : JSON.stringify(value))
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .map((name) => ({
      displayName: name,
      oldValue: textOf(before[name]),
      newValue: textOf(after[name]),
    }))
    .filter(({ oldValue, newValue }) => oldValue !== newValue)
    .toSorted((one, other) => (one.displayName < other.displayName ? -1 : 1))
}

/** Changes of the directory, from the audit trail; those of masking have a list of their own. */
export const directoryAudits: ReadOnlySet = {
  kind: 'directoryAudit',
  noun: 'DirectoryAudit',
  properties,
  clause: 'DIR-274',
  one: 'DirectoryAudit',
  many: 'DirectoryAudits',
  path: '/auditLogs/directoryAudits',
  set: 'auditLogs/directoryAudits',
  permission: auditLogPermission,
  requireCaller: requireAuditReader,
  defaultOrder: 'activityDateTime desc',
  source: (tx, tenantId) => ({
    columns: tx`o.id, 'directoryAudit' as kind, o.properties`,
    from: tx`(
      select ('00000000-0000-4000-8000-' || lpad(to_hex(entry.id), 12, '0'))::uuid as id, entry.at as created_at,
        ${describeInitiator(tx)}, ${describeEntry(tx)} as properties
      from (${selectDirectoryAudits(tx, tenantId)}) entry
      cross join lateral (
        select ${uuidIn(tx, tx`entry.actor ->> 'objectId'`)} as actor_id,
          ${uuidIn(tx, tx`split_part(entry.target, '/', 3)`)} as target_id
        -- Read once for each entry, and not for each pair that the joins look at.
        offset 0
      ) named
      left join directory_object actor on actor.tenant_id = ${tenantId} and actor.id = named.actor_id
      left join directory_object target on target.tenant_id = ${tenantId} and target.id = named.target_id
    ) o`,
    where: tx`true`,
    id: 'o.id',
    fields,
    type: `${namespace}.directoryAudit`,
  }),
}

/** The text as an id; null where it is none. */
function uuidIn(tx: Query, value: Fragment): Fragment {
  return tx`case when ${value} ~ '^[0-9a-fA-F-]{36}$' then (${value})::uuid end`
}

function describeInitiator(tx: Query): Fragment {
  const ofApp = tx`entry.actor ->> 'kind' = 'application'`
  return tx`case when not ${ofApp} then entry.actor ->> 'objectId' end as user_id,
    case when not ${ofApp} then actor.display_name end as user_display_name,
    case when not ${ofApp} then actor.user_principal_name end as user_principal_name,
    case when ${ofApp} then entry.actor ->> 'applicationId' end as app_id,
    case when ${ofApp} then actor.display_name end as app_display_name,
    case when ${ofApp} then entry.actor ->> 'objectId' end as service_principal_id`
}

function describeEntry(tx: Query): Fragment {
  return tx`jsonb_build_object(
    'category', case split_part(entry.target, '/', 2) when 'users' then 'UserManagement' when 'groups' then 'GroupManagement'
      when 'applications' then 'ApplicationManagement' when 'servicePrincipals' then 'ApplicationManagement'
      when 'directoryRoles' then 'RoleManagement' when 'devices' then 'Device' else 'DirectoryManagement' end,
    'correlationId', entry.request_id,
    'result', 'success',
    'resultReason', '',
    'activityDisplayName', upper(left(entry.action, 1)) || substr(entry.action, 2),
    'activityDateTime', to_char(entry.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'loggedByService', 'Core Directory',
    'operationType', case split_part(entry.action, ' ', 1) when 'create' then 'Add' when 'update' then 'Update'
      when 'delete' then 'Delete' when 'purge' then 'Delete' when 'add' then 'Assign' when 'grant' then 'Assign'
      when 'consent' then 'Assign' when 'remove' then 'Unassign' when 'revoke' then 'Unassign'
      when 'withdraw' then 'Unassign' else 'Update' end,
    'initiatedBy', jsonb_build_object('user', ${describeUser(tx)}, 'app', ${describeApp(tx)}),
    'targetResources', jsonb_build_array(jsonb_build_object(
      'id', split_part(entry.target, '/', 3),
      'displayName', coalesce(target.display_name, entry.after ->> 'displayName', entry.before ->> 'displayName'),
      'type', case split_part(entry.target, '/', 2) when 'users' then 'User' when 'groups' then 'Group'
        when 'applications' then 'Application' when 'servicePrincipals' then 'ServicePrincipal'
        when 'directoryRoles' then 'Role' when 'devices' then 'Device' when 'organization' then 'Directory'
        else 'Other' end,
      'userPrincipalName', target.user_principal_name,
      'groupType', case when target.kind = 'group' then
        case when target.unified then 'unifiedGroups' else 'azureAD' end end)),
    'before', entry.before,
    'after', entry.after,
    'additionalDetails', case when entry.actor ->> 'kind' = 'application' then '[]'::jsonb
      else jsonb_build_array(jsonb_build_object('key', 'applicationId', 'value', entry.actor ->> 'applicationId')) end)`
}

/** The audit trail keeps no addresses: the sign-in of the person has them. */
function describeUser(tx: Query): Fragment {
  return tx`case when entry.actor ->> 'kind' <> 'application' then jsonb_build_object(
    'id', entry.actor ->> 'objectId', 'displayName', actor.display_name,
    'userPrincipalName', actor.user_principal_name, 'ipAddress', null) end`
}

function describeApp(tx: Query): Fragment {
  return tx`case when entry.actor ->> 'kind' = 'application' then jsonb_build_object(
    'appId', entry.actor ->> 'applicationId', 'displayName', actor.display_name,
    'servicePrincipalId', entry.actor ->> 'objectId', 'servicePrincipalName', actor.display_name) end`
}
