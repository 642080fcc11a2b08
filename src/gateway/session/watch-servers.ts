import { isSamePlace } from '../../db/database-url.ts'
import type { GatewayPorts } from '../ports.ts'
import type { RegisteredSession } from './session-registry.ts'

interface ServerPorts extends Pick<GatewayPorts, 'findPrimary' | 'log'> {
  /** Sessions of this node, in whichever of its processes. */
  list(): readonly RegisteredSession[]
  endReplaced(ids: readonly string[]): Promise<void>
}

const lookEveryMs = 1_000

/**
 * Ends sessions at a server that is not the primary of its database any more: masks that change later do not reach it.
 * Only databases on several hosts are looked at.
 */
export class ServerWatch {
  readonly #ports: ServerPorts
  #timer: NodeJS.Timeout | undefined
  #looking = Promise.resolve()
  #isClosed = false

  constructor(ports: ServerPorts) {
    this.#ports = ports
    this.#tick()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#looking
  }

  #tick(): void {
    this.#looking = this.#look().finally(() => {
      if (!this.#isClosed) this.#timer = setTimeout(() => this.#tick(), lookEveryMs).unref()
    })
  }

  async #look(): Promise<void> {
    const movable = this.#ports.list().filter(({ cancel }) => cancel.address.others)
    const byDatabase = Map.groupBy(movable, ({ databaseId }) => databaseId)
    await Promise.all(
      [...byDatabase].map(async ([databaseId, sessions]) => {
        const primary = await this.#ports.findPrimary(databaseId).catch(() => undefined)
        const strays = primary ? sessions.filter(({ cancel }) => !isSamePlace(primary, cancel.address)) : []
        if (strays.length === 0) return
        await this.#ports.endReplaced(strays.map(({ id }) => id)).catch(() => {})
        this.#ports.log.info({ databaseId, ended: strays.length }, 'sessions at a replaced server ended')
      }),
    )
  }
}
