import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before } from 'node:test'
import { startTestService, type TestResponse, type TestService } from './service.ts'

export const apiVersion = 'api-version=2014-04-01'

let databases = 0

/** A database that no other test of the file uses. */
export function freshDatabase(namespace = 'Vendor.Sql'): string {
  return `/subscriptions/sub-1/resourceGroups/Group-1/providers/${namespace}/servers/Srv/databases/db${++databases}`
}

export const policyUrl = (db: string) => `${db}/dataMaskingPolicies/Default`
export const rulesUrl = (db: string) => `${policyUrl(db)}/rules`
export const ruleUrl = (db: string, name: string) => `${rulesUrl(db)}/${encodeURIComponent(name)}`

export const emailRule = {
  schemaName: 'public',
  tableName: 'person',
  columnName: 'email',
  maskingFunction: 'Email',
}

type Headers = Record<string, string>

/** The service for one file, and a caller who may do everything on it. */
export function useMasking(environment: NodeJS.ProcessEnv = {}) {
  let service: TestService | undefined
  let token = ''
  before(async () => {
    service = await startTestService(environment)
    token = service.tokenFor({ role: 'Owner' })
  })
  after(() => service?.[Symbol.asyncDispose]())
  const running = (): TestService => {
    if (!service) throw new Error('the service is not started yet')
    return service
  }
  const send = (method: string, path: string, body?: unknown, headers: Headers = {}): Promise<TestResponse> =>
    running().request(method, path.includes('?') ? path : `${path}?${apiVersion}`, {
      token,
      ...(body !== undefined && { body }),
      headers,
    })
  const putPolicy = (db: string, properties: object, headers?: Headers) =>
    send('PUT', policyUrl(db), { properties }, headers)
  const bindReached = async (db: string): Promise<void> => {
    const { sql } = running().database
    const binding = { host: '127.0.0.1', port: 1, database: randomUUID(), user: 'u', sslmode: 'disable' }
    await sql`
      update masked_database set binding = ${sql.json(binding)}, binding_reached_at = now()
      where key = ${db.toLowerCase()}`
  }
  return {
    service: running,
    /** Stores a binding that has logged in before, to a server that is down now. */
    bindReached,
    /** A database that the service has logged in to. */
    async reachedDatabase(): Promise<string> {
      const db = freshDatabase()
      assert.equal((await putPolicy(db, { dataMaskingState: 'Disabled' })).status, 200)
      await bindReached(db)
      return db
    },
    /** Object id of the caller. */
    sender: (): string => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).oid,
    send,
    putRule: (db: string, name: string, properties: object, headers?: Headers) =>
      send('PUT', ruleUrl(db, name), { properties }, headers),
    getRule: (db: string, name: string) => send('GET', ruleUrl(db, name)),
    listRules: async (db: string) => (await send('GET', rulesUrl(db))).body.value,
    getPolicy: (db: string) => send('GET', policyUrl(db)),
    putPolicy,
  }
}
