import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { writePrivateFile } from '../db/private-file.ts'
import {
  bracketHost,
  createNetworkList,
  isEveryInterface,
  isLoopbackHost,
  reachableAddress,
} from '../kernel/network.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import type { Service } from '../service.ts'
import { readOwnFile } from './own-file.ts'

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

/** As the commands find it: `host` is an address of this machine. */
export interface FoundRun extends RunFile {
  /** The name that the service listens by, where it has one. */
  readonly hostName?: string
}

/** Null: no service runs there. Throws when others could have written it, or it leads to another machine. */
export async function readRunFile(dataDir: string): Promise<FoundRun | null> {
  const run = await readTrusted(dataDir)
  if (!run) return null
  const { host } = run
  if (isOwnAddress(host)) return run
  const found = isIP(host) === 0 ? await lookup(host, { all: true }).catch(() => []) : []
  const own = found.find(({ address }) => isOwnAddress(address))
  if (own) return { ...run, host: own.address, hostName: host }
  throw new OperatorError(
    `${join(dataDir, runFileName)} says that its service is at ${host.slice(0, 253)}, which is not an address of this machine: nothing is sent there. If this machine had that address before, start the service again.`,
  )
}

/** In whose name the service of a data directory issues tokens, wherever it listens, or listened before this machine moved. */
export async function readOrigin(dataDir: string): Promise<string | undefined> {
  return (await readTrusted(dataDir))?.origin
}

async function readTrusted(dataDir: string): Promise<RunFile | null> {
  const file = await readOwnFile(dataDir, runFileName)
  try {
    const run = JSON.parse(file?.text ?? 'null') as RunFile
    return typeof run?.host === 'string' ? run : null
  } catch {
    return null
  }
}

/** An address of an interface of this machine. */
export function isOwnAddress(host: string): boolean {
  if (isLoopbackHost(host) || isEveryInterface(host)) return true
  const all = Object.values(networkInterfaces()).flatMap((cards) => cards ?? [])
  return createNetworkList(all.map(({ address }) => address.split('%', 1)[0] ?? ''))(host)
}

/** Tells the other commands where the running service listens. Returns the name of the file. */
export async function writeRunFile(dataDir: string, service: DescribedService): Promise<string> {
  const file = join(dataDir, runFileName)
  writePrivateFile(file, JSON.stringify(describeRun(service)))
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

const runFileName = 'run.json'
