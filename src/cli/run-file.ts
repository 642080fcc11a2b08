import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bracketHost, reachableAddress } from '../kernel/network.ts'
import type { Service } from '../service.ts'

/** Written by a running service into its data directory, for the commands to find it. */
export interface RunFile {
  readonly pid: number
  readonly host: string
  readonly httpPort: number
  readonly httpsPort: number
  /** In whose name tokens are issued. */
  readonly origin: string
  readonly gatewayPort?: number
  /** PEM of the certificate that the running service alone can prove: the file outlives a service that was killed. */
  readonly certificate?: string
}

export async function readRunFile(dataDir: string): Promise<RunFile | null> {
  try {
    return JSON.parse(await readFile(fileIn(dataDir), 'utf8')) as RunFile
  } catch {
    return null
  }
}

/** Tells the other commands where the running service listens. Returns the name of the file. */
export async function writeRunFile(dataDir: string, service: DescribedService): Promise<string> {
  const file = fileIn(dataDir)
  await writeFile(file, JSON.stringify(describeRun(service)), { mode: 0o600 })
  return file
}

type DescribedService = Pick<Service, 'listeners' | 'auth' | 'gateway' | 'nodeCertificate'>

function describeRun({ listeners, auth, gateway, nodeCertificate }: DescribedService): RunFile {
  return { ...describePlace({ listeners, auth, gateway }), certificate: nodeCertificate }
}

/** Without the certificate, which is for commands alone. */
export function describePlace({
  listeners,
  auth,
  gateway,
}: Omit<DescribedService, 'nodeCertificate'>): RunFile {
  const { host, httpPort, httpsPort } = listeners
  const origin = auth.identity.origin()
  return { pid: process.pid, host, httpPort, httpsPort, origin, gatewayPort: gateway.port }
}

export function urlOf({ host, httpPort }: RunFile): string {
  return `http://${bracketHost(reachableAddress(host))}:${httpPort}`
}

const fileIn = (dataDir: string) => join(dataDir, 'run.json')
