import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitUntil } from '../support/wait-until.ts'
import { Daemon, findFreePort } from './process.ts'
import type { ClusterStore, Fault } from './store.ts'

const main = join(import.meta.dirname, '../../src/cli/main.ts')

export interface ClusterNode {
  readonly daemon: Daemon
  readonly httpPort: number
  readonly gatewayPort: number
}

/** Where clients reach the nodes, and where the masked database is. */
export interface Entrances {
  readonly http: readonly number[]
  readonly gateway: readonly number[]
  readonly postgres: number
}

export interface Nodes {
  readonly nodes: readonly ClusterNode[]
  readonly faults: readonly Fault[]
  areReady(): Promise<boolean>
  close(): Promise<void>
}

export async function startNodes(folder: string, url: string, count: number): Promise<Nodes> {
  const keyFile = join(folder, 'node-1', 'secret.key')
  const nodes: ClusterNode[] = []
  for (let at = 1; at <= count; at++) {
    const dataDir = join(folder, `node-${at}`)
    mkdirSync(dataDir)
    const [httpPort, gatewayPort] = [await findFreePort(), await findFreePort()]
    const daemon = new Daemon({
      command: process.execPath,
      args: [main, 'serve'],
      logFile: join(folder, `node-${at}.log`),
      environment: {
        MASQUERADE_DATABASE_URL: url,
        MASQUERADE_DATA_DIR: dataDir,
        ...(at > 1 && { MASQUERADE_SECRET_KEY_FILE: keyFile }),
        MASQUERADE_PUBLIC_URL: 'https://masquerade.example',
        MASQUERADE_HTTP_PORT: String(httpPort),
        MASQUERADE_HTTPS_PORT: '0',
        MASQUERADE_GATEWAY_PORT: String(gatewayPort),
        MASQUERADE_GATEWAY_WORKERS: '1',
        MASQUERADE_AUDIT_SECONDS: '10',
        MASQUERADE_RATE_LIMIT: '0',
        MASQUERADE_DEMO: '0',
        MASQUERADE_SHUTDOWN_TIMEOUT_SECONDS: '5',
      },
    })
    nodes.push({ daemon, httpPort, gatewayPort })
    daemon.start()
    // The first one makes the key and the tables.
    await waitUntil(`node ${at} is ready`, () => isReady(httpPort), { withinMs: 90_000, everyMs: 250 })
  }
  const areReady = async () =>
    (await Promise.all(nodes.map(({ httpPort }) => isReady(httpPort)))).every(Boolean)
  return {
    nodes,
    areReady,
    faults: listFaults(nodes),
    async close() {
      await Promise.all(nodes.map(({ daemon }) => daemon.stop()))
    },
  }
}

function listFaults(nodes: readonly ClusterNode[]): Fault[] {
  let turn = 0
  const next = () => nodes[turn++ % nodes.length] as ClusterNode
  return [
    {
      name: 'node: kill -9',
      async begin() {
        const { daemon } = next()
        daemon.signal('SIGKILL')
        return async () => daemon.start()
      },
    },
    {
      name: 'node: SIGSTOP',
      async begin() {
        const { daemon } = next()
        daemon.signal('SIGSTOP')
        return async () => daemon.signal('SIGCONT')
      },
    },
    {
      name: 'nodes: rolling restart',
      async begin() {
        for (const { daemon, httpPort } of nodes) {
          await daemon.stop()
          daemon.start()
          await waitUntil('the node is ready', () => isReady(httpPort), { withinMs: 60_000, everyMs: 250 })
        }
        return async () => {}
      },
    },
  ]
}

async function isReady(port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(2_000) })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}

/** HAProxy before the nodes, and before the servers for those who need the primary. */
export async function startBalancer(
  folder: string,
  nodes: readonly ClusterNode[],
  checks: ClusterStore['primaryChecks'],
): Promise<{ entrances: Entrances; close(): Promise<void> }> {
  const [http, gateway, postgres] = [await findFreePort(), await findFreePort(), await findFreePort()]
  const file = join(folder, 'haproxy.cfg')
  const usual = 'inter 500ms fall 2 rise 1'
  writeFileSync(
    file,
    `defaults
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  timeout check 1500ms
  retries 2
  option redispatch
listen http
  mode http
  bind 127.0.0.1:${http}
  balance roundrobin
  option httpchk GET /readyz
${nodes.map(({ httpPort }, at) => `  server n${at} 127.0.0.1:${httpPort} check ${usual}`).join('\n')}
listen gateway
  mode tcp
  bind 127.0.0.1:${gateway}
  option httpchk GET /readyz
${nodes.map((node, at) => `  server g${at} 127.0.0.1:${node.gatewayPort} check port ${node.httpPort} ${usual}`).join('\n')}
listen postgres
  mode tcp
  bind 127.0.0.1:${postgres}
  option httpchk GET /primary
  default-server on-marked-down shutdown-sessions
${checks.map(({ port, check }, at) => `  server p${at} 127.0.0.1:${port} check port ${check} ${usual}`).join('\n')}
`,
  )
  const daemon = new Daemon({
    command: 'haproxy',
    args: ['-f', file, '-db'],
    logFile: join(folder, 'haproxy.log'),
  })
  daemon.start()
  return { entrances: { http: [http], gateway: [gateway], postgres }, close: () => daemon.stop() }
}
