import type { TestService } from './service.ts'

export const apiVersion = 'api-version=2014-04-01'

const kinds = ['rules/read', 'rules/write', 'rules/delete', 'read', 'write'] as const

/** Every action of the masking API, for a caller who may do all. */
export const allActions = [
  ...kinds.map((kind) => `Vendor.Sql/servers/databases/dataMaskingPolicies/${kind}`),
  ...['read', 'write', 'delete'].flatMap((verb) => [
    `Vendor.Sql/servers/${verb}`,
    `Vendor.Sql/servers/databases/${verb}`,
    `Vendor.Authorization/roleAssignments/${verb}`,
  ]),
  'Vendor.Sql/auditEvents/read',
]

let databases = 0

/** A database that no other test of the file uses. */
export function freshDatabase(namespace = 'Vendor.Sql'): string {
  return `/subscriptions/sub-1/resourceGroups/Group-1/providers/${namespace}/servers/Srv/databases/db${++databases}`
}

export function maskingClient(service: TestService, token: string) {
  const send = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    service.request(method, path.includes('?') ? path : `${path}?${apiVersion}`, {
      token,
      ...(body !== undefined && { body }),
      ...(headers && { headers }),
    })
  return {
    send,
    putRule: (db: string, name: string, properties: object, headers?: Record<string, string>) =>
      send('PUT', ruleUrl(db, name), { properties }, headers),
    listRules: (db: string) => send('GET', `${db}/dataMaskingPolicies/Default/rules`),
    getPolicy: (db: string) => send('GET', `${db}/dataMaskingPolicies/Default`),
    putPolicy: (db: string, properties: object, headers?: Record<string, string>) =>
      send('PUT', `${db}/dataMaskingPolicies/Default`, { properties }, headers),
  }
}

export function ruleUrl(db: string, name: string): string {
  return `${db}/dataMaskingPolicies/Default/rules/${encodeURIComponent(name)}`
}

export const emailRule = {
  schemaName: 'public',
  tableName: 'person',
  columnName: 'email',
  maskingFunction: 'Email',
}
