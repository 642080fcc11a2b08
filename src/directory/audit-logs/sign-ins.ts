import type { ReadOnlySet } from '../entities/read-only-set.ts'
import { namespace } from '../entities/show-entity.ts'
import { fieldsOf } from '../odata/field.ts'
import { auditLogPermission, requireAuditReader } from './audit-readers.ts'

const text = { type: 'string' } as const
const none = { type: 'string', default: 'none' } as const

const properties = {
  id: { type: 'guid', derive: ({ id }) => id },
  createdDateTime: { type: 'dateTime', column: 'created_at', index: 'order' },
  userDisplayName: text,
  userPrincipalName: { ...text, column: 'user_principal_name', index: 'order', sort: false },
  userId: { type: 'guid', column: 'user_id', index: 'key' },
  appId: { type: 'guid', column: 'app_id', index: 'key' },
  appDisplayName: text,
  ipAddress: text,
  clientAppUsed: text,
  userAgent: text,
  correlationId: text,
  conditionalAccessStatus: { type: 'string', default: 'notApplied' },
  isInteractive: { type: 'boolean' },
  riskDetail: none,
  riskLevelAggregated: none,
  riskLevelDuringSignIn: none,
  riskState: none,
  resourceDisplayName: text,
  resourceId: text,
  servicePrincipalId: text,
  servicePrincipalName: text,
  signInEventTypes: { type: 'strings', default: [] },
  authenticationProtocol: text,
  status: {
    type: { object: { errorCode: { type: 'integer' }, failureReason: text, additionalDetails: text } },
  },
  attempts: { type: 'integer', column: 'attempts' },
  lastAttemptDateTime: { type: 'dateTime', column: 'last_at' },
} as const satisfies ReadOnlySet['properties']

const fields = fieldsOf([{ properties }], { columns: {}, filterAll: true })

/** The records of the token service and the gateway. `attempts` and `lastAttemptDateTime` are ours. */
export const signIns: ReadOnlySet = {
  kind: 'signIn',
  noun: 'SignIn',
  properties,
  clause: 'DIR-275',
  one: 'SignIn',
  many: 'SignIns',
  path: '/auditLogs/signIns',
  set: 'auditLogs/signIns',
  permission: auditLogPermission,
  requireCaller: requireAuditReader,
  defaultOrder: 'createdDateTime desc',
  source: (tx, tenantId) => ({
    columns: tx`o.id, 'signIn' as kind, o.properties || jsonb_build_object('attempts', o.attempts,
      'createdDateTime', to_char(o.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'lastAttemptDateTime', to_char(o.last_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as properties`,
    from: tx`sign_in o`,
    where: tx`o.tenant_id = ${tenantId}`,
    id: 'o.id',
    fields,
    type: `${namespace}.signIn`,
  }),
}
