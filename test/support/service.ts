import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino, { type Logger } from 'pino'
import { startService } from '../../src/main.ts'
import { readSettings } from '../../src/settings.ts'
import { checkDescribed } from './described-answers.ts'
import { createTestDatabase } from './postgres.ts'
import { allowNestedUse } from './refuse-nested-use.ts'
import { createTokens } from './tokens.ts'

export type { TokenRequest } from './tokens.ts'

export interface TestResponse {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any
  readonly text: string
}

export type TestService = Awaited<ReturnType<typeof startTestService>>

/** The whole service in this process, on a database of its own. */
export async function startTestService(
  environment: NodeJS.ProcessEnv = {},
  log: Logger = pino({ level: 'silent' }),
  portalFolder?: string,
) {
  const testDatabase = await createTestDatabase()
  const dataDir = await mkdtemp(join(tmpdir(), 'masquerade-test-'))
  const settings = readSettings({
    MASQUERADE_DATA_DIR: dataDir,
    MASQUERADE_DATABASE_URL: testDatabase.url,
    MASQUERADE_HTTP_PORT: '0',
    MASQUERADE_HTTPS_PORT: '0',
    MASQUERADE_GATEWAY_PORT: '0',
    MASQUERADE_RATE_LIMIT: '0',
    MASQUERADE_GATEWAY_WORKERS: '1',
    ...environment,
  })
  const service = await startService({ settings, log, ...(portalFolder !== undefined && { portalFolder }) })
  const tokens = await createTokens(service)
  const origin = `http://127.0.0.1:${service.listeners.httpPort}`

  return {
    ...service,
    database: allowNestedUse(service.database),
    origin,
    httpsOrigin: `https://localhost:${service.listeners.httpsPort}`,
    dataDir,
    databaseUrl: testDatabase.url,
    tenantId: service.store.tenantId,

    tokens,
    tokenFor: tokens.tokenFor,

    /** A body that is not a string is sent as JSON. */
    async request(
      method: string,
      path: string,
      options: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
    ): Promise<TestResponse> {
      const { token, body, headers } = options
      await tokens.settled()
      const response = await fetch(path.startsWith('http') ? path : origin + path, {
        method,
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      checkDescribed(method, new URL(path, origin).pathname, {
        status: response.status,
        headers: response.headers,
        text,
      })
      const isJson = response.headers.get('content-type')?.includes('json')
      return {
        status: response.status,
        headers: response.headers,
        body: isJson && text ? JSON.parse(text) : undefined,
        text,
      }
    },

    async [Symbol.asyncDispose]() {
      await service.stop()
      await testDatabase[Symbol.asyncDispose]()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
