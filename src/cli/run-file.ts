import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bracketHost, reachableAddress } from '../kernel/network.ts'

/** Written by a running service into its data directory, for the commands to find it. */
export interface RunFile {
  readonly pid: number
  readonly host: string
  readonly httpPort: number
  readonly httpsPort: number
  /** In whose name tokens are issued. */
  readonly origin: string
  readonly gatewayPort?: number
}

export async function readRunFile(dataDir: string): Promise<RunFile | null> {
  try {
    return JSON.parse(await readFile(join(dataDir, 'run.json'), 'utf8')) as RunFile
  } catch {
    return null
  }
}

export function urlOf({ host, httpPort }: RunFile): string {
  return `http://${bracketHost(reachableAddress(host))}:${httpPort}`
}
