import type { GatewayPorts, Principal } from '../ports.ts'
import { RepeatedLook } from './repeated-look.ts'
import type { RegisteredSession } from './session-registry.ts'

export interface RevocationPorts extends Pick<GatewayPorts, 'findRevoked' | 'endBackends' | 'log'> {
  /** Sessions of this node, in whichever of its processes. */
  list(): readonly RegisteredSession[]
  endRevoked(ids: readonly string[]): Promise<void>
}

type DirectorySession = RegisteredSession & { readonly principal: Principal }

interface Backends {
  readonly databaseId: string
  readonly roleOid: number
  readonly processIds: readonly number[]
}

/** After that the database has been away for so long that its backends have lost their clients. */
const maxUnended = 1_000

/**
 * Ends sessions whose token was revoked after their login. It looks once a second and waits for no notification: a sign-in
 * also ends by the clock.
 */
export class RevocationWatch {
  readonly #ports: RevocationPorts
  readonly #unended: Backends[] = []
  readonly #looks: RepeatedLook
  #hasFailed = false

  constructor(ports: RevocationPorts) {
    this.#ports = ports
    this.#looks = new RepeatedLook(() => this.#look())
  }

  close(): Promise<void> {
    return this.#looks.close()
  }

  async #look(): Promise<void> {
    const { log, endRevoked } = this.#ports
    try {
      const sessions = await this.#findRevoked()
      if (sessions.length > 0) {
        await endRevoked(sessions.map(({ id }) => id))
        log.info({ ended: sessions.length }, 'sessions whose tokens were revoked ended')
      }
      const backends = [...groupBackends(sessions), ...this.#unended.splice(0)]
      for (const each of backends) void this.#endBackends(each)
      this.#hasFailed = false
    } catch (err) {
      if (!this.#hasFailed) log.warn({ err }, 'sessions whose tokens were revoked cannot be ended')
      this.#hasFailed = true
    }
  }

  async #findRevoked(): Promise<DirectorySession[]> {
    const sessions = this.#ports
      .list()
      .filter((session): session is DirectorySession => session.principal !== undefined)
    if (sessions.length === 0) return []
    const byToken = [...Map.groupBy(sessions, ({ principal }) => JSON.stringify(principal.grounds)).values()]
    const tokens = byToken.flatMap(([first]) => first?.principal.grounds ?? [])
    const revoked = await this.#ports.findRevoked(tokens)
    return byToken.filter((_, at) => revoked[at] !== false).flat()
  }

  /**
   * A backend that is busy does not notice its closed connection, and a block of code may catch the cancellation of its
   * statement: it is terminated, again at the next look where that fails. The look does not wait for it: one database that
   * does not answer must not keep sessions of others.
   */
  async #endBackends(backends: Backends): Promise<void> {
    const { databaseId, roleOid, processIds } = backends
    try {
      await this.#ports.endBackends(databaseId, roleOid, processIds)
    } catch (err) {
      this.#ports.log.warn(
        { databaseId, err },
        'backends of sessions whose tokens were revoked were not ended',
      )
      if (!this.#looks.isClosed && this.#unended.length < maxUnended) this.#unended.push(backends)
    }
  }
}

function groupBackends(sessions: readonly DirectorySession[]): Backends[] {
  const groups = Map.groupBy(sessions, ({ databaseId, roleOid }) => `${databaseId} ${roleOid}`)
  return [...groups.values()].flatMap((group) => {
    // Processes of a standby are not the primary's: closing its connection ends a statement there.
    const atPrimary = group.filter(({ cancel }) => cancel.address.standing === undefined)
    const processIds = atPrimary.flatMap(({ cancel }) => cancel.key?.processId ?? [])
    return group.slice(0, 1).map(({ databaseId, roleOid }) => ({ databaseId, roleOid, processIds }))
  })
}
