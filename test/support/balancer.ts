import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createCa, issueCertificate } from '../../src/http/local-ca.ts'
import { readText } from '../house/tree.ts'
import { systemEnvironment } from './find-program.ts'
import { findFreePort } from './network.ts'
import { type Running, start } from './package.ts'

/** Where the balancer finds a node. */
export interface BalancedNode {
  readonly httpPort: number
  readonly gatewayPort: number
}

export interface Balancer {
  readonly port: number
  readonly running: Running
}

/** `deploy/haproxy.cfg` as it is, but for addresses and the number of nodes. */
export async function startBalancer(
  haproxy: string,
  folder: string,
  nodes: readonly BalancedNode[],
): Promise<Balancer> {
  const [port, gatewayPort] = [await findFreePort(), await findFreePort()]
  const certificate = join(folder, 'proxy.pem')
  const { ca } = await createCa(['localhost'], new Date())
  const { cert, key } = await issueCertificate(ca, ['localhost'], new Date())
  await writeFile(certificate, cert + key, { mode: 0o600 })
  const listNodes = (_line: string, before: string, kind: string, after: string) =>
    nodes
      .map((node, at) => {
        const ports = { 8080: node.httpPort, 6432: node.gatewayPort }
        const options = after.replace('8080', String(node.httpPort))
        return `${before}server node-${at + 1} 127.0.0.1:${ports[kind as '8080' | '6432']}${options}\n`
      })
      .join('')
  const config = readText('deploy/haproxy.cfg')
    .replace(/bind :8443 ssl crt \S+/, `bind 127.0.0.1:${port} ssl crt ${certificate}`)
    .replace('bind :6432', `bind 127.0.0.1:${gatewayPort}`)
    .replaceAll(/^( *)server node-1 node-1:(\d+)(.*)\n/gm, listNodes)
    .replaceAll(/^ *server node-2 node-2:.*\n/gm, '')
  const file = join(folder, 'haproxy.cfg')
  await writeFile(file, config)
  return { port, running: start([haproxy, '-db', '-f', file], folder, systemEnvironment()) }
}
