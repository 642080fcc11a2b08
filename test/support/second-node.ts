import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCommand } from './command.ts'
import type { TestService } from './service.ts'

/** Nodes of one service have one address, whatever ports they listen on. */
export const sharedAddress = { MASQUERADE_PUBLIC_URL: 'https://masquerade.example' }

/** Another node of a service that was started with `sharedAddress`, as a process of its own. */
export async function startSecondNode(first: TestService, environment: Record<string, string> = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), 'masquerade-test-'))
  const node = startCommand(['serve'], {
    ...sharedAddress,
    MASQUERADE_DATA_DIR: dataDir,
    MASQUERADE_DATABASE_URL: first.databaseUrl,
    MASQUERADE_SECRET_KEY_FILE: join(first.dataDir, 'secret.key'),
    MASQUERADE_HTTP_PORT: '0',
    MASQUERADE_HTTPS_PORT: '0',
    MASQUERADE_GATEWAY_PORT: '0',
    MASQUERADE_RATE_LIMIT: '0',
    ...environment,
  })
  const screen = await node.waitFor(/Ctrl\+C/)
  return {
    ...node,
    gatewayPort: Number(/postgresql:\/\/[^:]+:(\d+)/.exec(screen)?.[1]),
    origin: /http:\/\/127\.0\.0\.1:\d+/.exec(screen)?.[0] ?? '',
    async [Symbol.asyncDispose]() {
      node.child.kill('SIGCONT')
      node.child.kill('SIGTERM')
      await node.ended
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

export type SecondNode = Awaited<ReturnType<typeof startSecondNode>>
