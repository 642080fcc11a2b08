import { join } from 'node:path'
import { after, before } from 'node:test'
import pg from 'pg'
import type { useGateway } from './gateway.ts'
import { startTestService, type TestService } from './service.ts'

/** Another node over the store of `first`, in this process. */
export function startOtherNode(
  first: TestService,
  environment: NodeJS.ProcessEnv = {},
): Promise<TestService> {
  return startTestService({
    MASQUERADE_DATABASE_URL: first.databaseUrl,
    MASQUERADE_SECRET_KEY_FILE: join(first.dataDir, 'secret.key'),
    ...environment,
  })
}

/**
 * Two nodes of one issuer. They compare with the store later than any test waits: what one learns sooner of the other, it has
 * heard.
 */
export async function startNodesThatHear(): Promise<[TestService, TestService]> {
  const settings = { MASQUERADE_TOKEN_CHECK_SECONDS: '300' }
  const first = await startTestService(settings)
  const MASQUERADE_PUBLIC_URL = first.auth.identity.origin()
  return [first, await startOtherNode(first, { ...settings, MASQUERADE_PUBLIC_URL })]
}

/** Another node beside that of `gateway`, for one file. */
export function useOtherNode(gateway: ReturnType<typeof useGateway>) {
  const opened: pg.Client[] = []
  let other: TestService | undefined
  before(async () => {
    other = await startOtherNode(gateway.masking.service(), { MASQUERADE_AUDIT_SECONDS: '3600' })
  })
  after(async () => {
    for (const client of opened) await client.end().catch(() => {})
    await other?.[Symbol.asyncDispose]()
  })
  const service = (): TestService => {
    if (!other) throw new Error('the other node is not started yet')
    return other
  }
  return {
    service,
    /** Connects through the gateway of that node. */
    async connect(user: string, password = 'secret'): Promise<pg.Client> {
      const address = { host: '127.0.0.1', port: service().gateway.port, database: gateway.name }
      const client = new pg.Client({ ...address, user, password })
      client.on('error', () => {})
      opened.push(client)
      await client.connect()
      return client
    },
  }
}
