import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pino from 'pino'
import { type Service, startService } from '../src/main.ts'
import { readSettings } from '../src/settings.ts'

export interface BenchService extends Service {
  readonly dataDir: string
  /** Stops the service and removes its data. */
  close(): Promise<void>
}

interface Options {
  readonly portalFolder?: string
  readonly hasSample?: boolean
  readonly httpWorkers?: number
}

/** The service on an embedded PostgreSQL in a folder of its own, without a limit of requests. */
export async function openService({
  hasSample = false,
  httpWorkers = 1,
  ...options
}: Options = {}): Promise<BenchService> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'masquerade-bench-'))
  const settings = readSettings({
    MASQUERADE_DATA_DIR: dataDir,
    MASQUERADE_HTTP_PORT: '0',
    MASQUERADE_HTTPS_PORT: '0',
    MASQUERADE_GATEWAY_PORT: '0',
    MASQUERADE_RATE_LIMIT: '0',
    MASQUERADE_GATEWAY_WORKERS: '1',
    MASQUERADE_HTTP_WORKERS: String(httpWorkers),
    MASQUERADE_DEMO: hasSample ? '1' : '0',
  })
  const service = await startService({ ...options, settings, log: pino({ level: 'silent' }) })
  return {
    ...service,
    dataDir,
    async close() {
      await service.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
