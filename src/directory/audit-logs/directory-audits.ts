import { selectDirectoryAudits } from '../../db/audit.ts'
import type { Fragment, Query } from '../../db/query.ts'
import type { ReadOnlySet } from '../entities/read-only-set.ts'
import { namespace } from '../entities/show-entity.ts'
import { type Field, type Fields, fieldsOf } from '../odata/field.ts'
import { auditLogPermission, requireAuditReader } from './audit-readers.ts'

const text = { type: 'string' } as const
const actor = { id: text, displayName: text }

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
        ...actor,
        type: text,
        userPrincipalName: text,
        groupType: text,
        modifiedProperties: { type: { objects: { displayName: text, oldValue: text, newValue: text } } },
      },
    },
  },
  additionalDetails: { type: { objects: { key: text, value: text } } },
} as const satisfies ReadOnlySet['properties']

const fields: Fields = new Map<string, Field>([
  ...fieldsOf([{ properties }], { columns: {}, filterAll: true }),
  ...initiatorFields(),
])

/** A filter names who acted by a path of three segments, one more than those of other complex values. */
function initiatorFields(): [string, Field][] {
  const { user, app } = properties.initiatedBy.type.object
  const fieldsIn = (side: string, of: Readonly<Record<string, unknown>>) =>
    Object.keys(of).map((name): [string, Field] => {
      const path = `initiatedBy/${side}/${name}`
      const sqlOf = (row: string) => `(${row}.properties #>> '{initiatedBy,${side},${name}}')`
      return [path.toLowerCase(), { name: path, type: 'text', sqlOf, filter: true, sort: false }]
    })
  return [...fieldsIn('user', user.type.object), ...fieldsIn('app', app.type.object)]
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
        ${describeEntry(tx)} as properties
      from (${selectDirectoryAudits(tx, tenantId)}) entry
      left join directory_object actor on actor.tenant_id = ${tenantId} and actor.id = ${uuidIn(tx, tx`entry.actor ->> 'objectId'`)}
      left join directory_object target on target.tenant_id = ${tenantId} and target.id = ${uuidIn(tx, tx`split_part(entry.target, '/', 3)`)}
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
        case when target.unified then 'unifiedGroups' else 'azureAD' end end,
      'modifiedProperties', ${describeChanges(tx)})),
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

/** Old and new values as JSON texts. Secrets are in no entry of the audit trail. */
function describeChanges(tx: Query): Fragment {
  const objectIn = (side: string) =>
    tx.unsafe(`case when jsonb_typeof(entry.${side}) = 'object' then entry.${side} else '{}'::jsonb end`)
  return tx`(
    select coalesce(jsonb_agg(jsonb_build_object('displayName', name, 'oldValue', (entry.before -> name)::text,
      'newValue', (entry.after -> name)::text) order by name), '[]'::jsonb)
    from (
      select jsonb_object_keys(${objectIn('before')}) as name
      union select jsonb_object_keys(${objectIn('after')})
    ) named
    where entry.before -> name is distinct from entry.after -> name)`
}
