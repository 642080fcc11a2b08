import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { Room } from '../api/room.ts'
import type { Metrics } from './metrics.ts'
import type { Runner } from './runner.ts'

export interface HttpOptions {
  readonly runner: Omit<Runner, 'handleInner'>
  readonly rooms: readonly Pick<Room, 'operations' | 'ports' | 'parameters'>[]
  readonly log: Logger
  readonly metrics: Metrics
  /** Headers of every answer, for example a warning that this is an emulator. */
  readonly headers: Readonly<Record<string, string>>
  /** True for addresses of proxies whose `X-Forwarded-*` headers are believed. */
  isTrustedProxy(address: string): boolean
  /** False while the node drains. */
  accepting(): boolean
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void
