import { isSamePlace } from '../../db/database-url.ts'
import { isAtPlace } from '../login/require-place.ts'
import type { GatewayPorts } from '../ports.ts'
import { RepeatedLook } from './repeated-look.ts'
import type { RegisteredSession } from './session-registry.ts'

type Reason = 'BindingChanged' | 'ServerReplaced' | 'StandbyLeft'

interface ServerPorts
  extends Pick<GatewayPorts, 'findPlaces' | 'findMasked' | 'findPrimary' | 'lookAtStandbys' | 'log'> {
  /** Sessions of this node, in whichever of its processes. */
  list(): readonly RegisteredSession[]
  end(ids: readonly string[], reason: Reason): Promise<void>
}

/** A primary that cannot be asked for so long cannot tell of changes that a standby lacks. */
const mostUnknownMs = 10_000

/**
 * Ends sessions at a place that their database is not bound to any more, and in a database that was not bound and is masked by now.
 * Ends sessions at a server that is not the primary of several hosts any more, as masks and rights that change later do not reach it;
 * and sessions at a standby when masks or rights of their role change, or when the standby falls behind.
 */
export class ServerWatch {
  readonly #ports: ServerPorts
  /** When the standbys of a database were last looked at with success. */
  readonly #lookedAt = new Map<string, number>()
  /** Looks that have not ended: each is taken up again a second after its end or less. */
  readonly #underWay = new Set<string>()
  readonly #looks: RepeatedLook
  #hasFailed = false

  constructor(ports: ServerPorts) {
    this.#ports = ports
    this.#looks = new RepeatedLook(() => this.#look())
  }

  /** After a change of the binding: sessions that it ends have ended when this resolves. */
  async lookAtPlaces(databaseId: string): Promise<void> {
    await this.#checkPlaces(this.#ports.list().filter((session) => session.databaseId === databaseId))
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
    const all = this.#ports.list()
    this.#start('places', () => this.#checkPlaces(all))
    const byDatabase = Map.groupBy(all, ({ databaseId }) => databaseId)
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

  /** The controller is at the new place: it would neither read the masks of these sessions nor end them with their rights. */
  async #checkPlaces(sessions: readonly RegisteredSession[]): Promise<void> {
    if (sessions.length === 0) return
    const byDatabase = Map.groupBy(sessions, ({ databaseId }) => databaseId)
    const identities = [...new Set(sessions.flatMap(({ cancel }) => cancel.address.identity ?? []))]
    const found = await Promise.all([
      this.#ports.findPlaces([...byDatabase.keys()]),
      identities.length > 0 ? this.#ports.findMasked(identities) : [],
    ]).catch((err: unknown) => {
      if (!this.#hasFailed) this.#ports.log.warn({ err }, 'bindings of sessions cannot be looked up')
      this.#hasFailed = true
    })
    if (!found) return
    this.#hasFailed = false
    const [places, identified] = found
    const masked = new Set<string>(identified)
    for (const [databaseId, own] of byDatabase) {
      const strays = own.filter(
        ({ cancel: { address } }) =>
          !isAtPlace(address, places.get(databaseId)) || masked.has(address.identity ?? ''),
      )
      await this.#end(databaseId, strays, 'BindingChanged')
    }
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

  async #end(databaseId: string, sessions: readonly RegisteredSession[], reason: Reason): Promise<void> {
    if (sessions.length === 0 || this.#looks.isClosed) return
    const ids = sessions.map(({ id }) => id)
    await this.#ports.end(ids, reason).catch(() => {})
    this.#ports.log.info({ databaseId, reason, ended: ids.length }, 'sessions at other servers ended')
  }
}

function isAtStandby({ cancel }: RegisteredSession): boolean {
  return cancel.address.standing !== undefined
}
