import { isSamePlace } from '../../db/database-url.ts'
import type { GatewayPorts } from '../ports.ts'
import { RepeatedLook } from './repeated-look.ts'
import type { RegisteredSession } from './session-registry.ts'

interface ServerPorts extends Pick<GatewayPorts, 'findPrimary' | 'lookAtStandbys' | 'log'> {
  /** Sessions of this node, in whichever of its processes. */
  list(): readonly RegisteredSession[]
  end(ids: readonly string[], reason: 'ServerReplaced' | 'StandbyLeft'): Promise<void>
}

/** A primary that cannot be asked for so long cannot tell of changes that a standby lacks. */
const mostUnknownMs = 10_000

/**
 * Ends sessions at a server that is not the primary of its database any more, as masks that change later do not reach it; and
 * sessions at a standby when masks or rights of their role change, or when the standby falls behind. Only databases on
 * several hosts are looked at.
 */
export class ServerWatch {
  readonly #ports: ServerPorts
  /** When the standbys of a database were last looked at with success. */
  readonly #lookedAt = new Map<string, number>()
  /** Looks that have not ended: each is taken up again a second after its end or less. */
  readonly #underWay = new Set<string>()
  readonly #looks: RepeatedLook

  constructor(ports: ServerPorts) {
    this.#ports = ports
    this.#looks = new RepeatedLook(() => this.#look())
  }

  /** After a change of masks: sessions that it ends have ended when this resolves. */
  async lookAtStandbys(databaseId: string): Promise<void> {
    const sessions = this.#ports
      .list()
      .filter((session) => session.databaseId === databaseId && isAtStandby(session))
    if (sessions.length > 0) await this.#checkStandbys(databaseId, sessions)
  }

  /** Looks under way end no session any more. */
  close(): Promise<void> {
    return this.#looks.close()
  }

  /** Starts looks and waits for none: one database that does not answer must not keep sessions of others. */
  async #look(): Promise<void> {
    const byDatabase = Map.groupBy(this.#ports.list(), ({ databaseId }) => databaseId)
    for (const [databaseId, sessions] of byDatabase) {
      const atPrimary = sessions.filter(({ cancel }) => cancel.address.others)
      const atStandbys = sessions.filter(isAtStandby)
      if (atPrimary.length > 0)
        this.#start(`primary of ${databaseId}`, () => this.#checkPrimary(databaseId, atPrimary))
      if (atStandbys.length === 0) continue
      if (!this.#lookedAt.has(databaseId)) this.#lookedAt.set(databaseId, performance.now())
      const look = () => this.#checkStandbys(databaseId, atStandbys)
      const isHanging = !this.#start(`standbys of ${databaseId}`, look)
      // A look at a primary that hangs ends much later.
      if (isHanging && this.#isUnknown(databaseId)) void this.#end(databaseId, atStandbys, 'StandbyLeft')
    }
    for (const databaseId of this.#lookedAt.keys())
      if (!byDatabase.get(databaseId)?.some(isAtStandby)) this.#lookedAt.delete(databaseId)
  }

  /** Returns false where the last look is still under way. */
  #start(what: string, look: () => Promise<void>): boolean {
    if (this.#underWay.has(what)) return false
    this.#underWay.add(what)
    void look().finally(() => this.#underWay.delete(what))
    return true
  }

  async #checkPrimary(databaseId: string, sessions: readonly RegisteredSession[]): Promise<void> {
    const primary = await this.#ports.findPrimary(databaseId).catch(() => undefined)
    const strays = primary ? sessions.filter(({ cancel }) => !isSamePlace(primary, cancel.address)) : []
    await this.#end(databaseId, strays, 'ServerReplaced')
  }

  async #checkStandbys(databaseId: string, sessions: readonly RegisteredSession[]): Promise<void> {
    const now = performance.now()
    if (!this.#lookedAt.has(databaseId)) this.#lookedAt.set(databaseId, now)
    const roles = [...new Set(sessions.map(({ role }) => role))]
    const look = await this.#ports.lookAtStandbys(databaseId, roles).catch(() => undefined)
    if (look) this.#lookedAt.set(databaseId, now)
    else if (!this.#isUnknown(databaseId)) return
    const left = sessions.filter(({ role, cancel: { address } }) => {
      const isClose = look?.close.some((place) => isSamePlace(place, address))
      return !isClose || (look?.standings.get(role) ?? '') !== address.standing
    })
    await this.#end(databaseId, left, 'StandbyLeft')
  }

  #isUnknown(databaseId: string): boolean {
    return performance.now() - (this.#lookedAt.get(databaseId) ?? Number.POSITIVE_INFINITY) >= mostUnknownMs
  }

  async #end(
    databaseId: string,
    sessions: readonly RegisteredSession[],
    reason: 'ServerReplaced' | 'StandbyLeft',
  ): Promise<void> {
    if (sessions.length === 0 || this.#looks.isClosed) return
    const ids = sessions.map(({ id }) => id)
    await this.#ports.end(ids, reason).catch(() => {})
    this.#ports.log.info({ databaseId, reason, ended: ids.length }, 'sessions at other servers ended')
  }
}

function isAtStandby({ cancel }: RegisteredSession): boolean {
  return cancel.address.standing !== undefined
}
