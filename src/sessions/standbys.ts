import type { Database } from '../db/database.ts'
import { isSamePlace, type Place } from '../db/database-url.ts'
import { FollowedServer } from './followed-server.ts'
import { isRole, type OpenEntry } from './open-sessions.ts'
import { readMark } from './replay.ts'
import { type Loss, visitServer } from './visit-server.ts'

/** The servers of a binding. */
export interface Servers {
  /** Changes with the binding: a new address needs a new connection. */
  readonly key: string
  connectTo(place: Place): Database
  /** The servers of its cluster that it lists. */
  readonly places: readonly Place[]
  /** Those that may serve sessions; none where read-only sessions are for the primary too. */
  readonly standbyPlaces: readonly Place[]
}

interface Bindings {
  /** Null: the database is not bound. */
  open(databaseId: string): Promise<Database | null>
  /** Of an open database. */
  targetOf(databaseId: string): Servers | undefined
}

/** For each role a text that changes with its rights and with the masks of the database. */
type ReadStandings = (
  database: Pick<Database, 'sql'>,
  roles: readonly string[],
) => Promise<ReadonlyMap<string, string>>

export interface StandbyLook {
  /** For each role a text that is another one as soon as its rights or the masks of the database are. */
  readonly standings: ReadonlyMap<string, string>
  /** The standbys that are behind by less than the limit. */
  readonly close: readonly Place[]
}

/** A login role that lost something, and an end of the primary's log behind that. */
export interface LostLogin {
  readonly oid: number
  readonly left: string
}

/** Roles whose sessions are to end. */
interface Losing {
  readonly open: readonly OpenEntry[]
  readonly logins: readonly LostLogin[]
}

/**
 * The standbys of bound databases. Masks and grants reach a standby by replay, so it serves a session only when it has
 * replayed all that the primary had written when the session asked for it.
 */
export class Standbys {
  readonly #bindings: Bindings
  readonly #readStandings: ReadStandings
  /** With the key of the binding that each is of. */
  readonly #followed = new Map<string, { readonly key: string; readonly server: FollowedServer }>()
  /** By database: the version of its records and the primary's timeline, and an end of the log behind their change. */
  readonly #changes = new Map<string, { readonly key: string; readonly lsn: string }>()

  constructor(bindings: Bindings, readStandings: ReadStandings) {
    this.#bindings = bindings
    this.#readStandings = readStandings
  }

  /**
   * A standby that has replayed everything, and the role's standing from before. Undefined: the primary has to serve.
   */
  async choose(
    databaseId: string,
    role: string,
  ): Promise<{ readonly place: Place; readonly standing: string } | undefined> {
    const primary = await this.#bindings.open(databaseId)
    const target = this.#bindings.targetOf(databaseId)
    if (!target || !hasStandbys(target) || !primary) return undefined
    // The standing comes first: a change after it is noticed by its text, one before it is replayed.
    const standing = (await this.#readStandings(primary, [role])).get(role)
    if (standing === undefined) return undefined
    const mark = await readMark(primary)
    const others = target.standbyPlaces.filter((place) => !isAt(primary.primary(), place))
    const found = await Promise.any(
      others.map(async (place) => {
        if (await this.#follow(databaseId, target, place).catchesUp(mark)) return place
        throw new Error('behind')
      }),
    ).catch(() => undefined)
    return found && { place: found, standing }
  }

  /** For sessions that are under way. Rejects when the primary cannot be asked. */
  async look(databaseId: string, roles: readonly string[]): Promise<StandbyLook> {
    const primary = await this.#bindings.open(databaseId)
    const target = this.#bindings.targetOf(databaseId)
    if (!target || !primary) return { standings: new Map(), close: [] }
    const standings = await this.#readStandings(primary, roles)
    const mark = await readMark(primary)
    const judged = await Promise.all(
      target.standbyPlaces.map(async (place) =>
        (await this.#follow(databaseId, target, place).isClose(mark)) ? [place] : [],
      ),
    )
    return { standings, close: judged.flat() }
  }

  /**
   * Waits for the replay of changes, and ends the sessions that have what roles lost, at every server of the binding.
   * Returns what is left to do, and why changes are pending. `version`: of the records, another one after every change.
   */
  async settle(
    databaseId: string,
    primary: Database,
    version: string,
    { open, logins }: Losing,
  ): Promise<Losing & { readonly pending: readonly string[] }> {
    const target = this.#bindings.targetOf(databaseId)
    if (!target) return { open, logins, pending: [] }
    const at = primary.primary()
    const isServing = hasStandbys(target)
    // The primary of one host is not known by its place.
    if (target.places.length < 2 || !(isServing || logins.length > 0))
      return { open, logins: [], pending: [] }
    const mark = await readMark(primary)
    const known = this.#changes.get(databaseId)
    const key = `${version} ${mark.timeline}`
    const last = known?.key === key ? known : { key, lsn: mark.lsn }
    this.#changes.set(databaseId, last)
    const marked = open.map((one) => (isRole(one) && !one.isSeen ? { left: mark.lsn, ...one } : one))
    const raw = marked.flatMap(({ role, left }) => (left ? [{ role, left, scope: 'here' as const }] : []))
    const lost = logins.map(({ oid, left }) => ({ role: oid, left, scope: 'everywhere' as const }))
    const visits = await Promise.all(
      target.places.map((place) => {
        const isPrimary = isAt(at, place)
        const change = isServing && !isPrimary ? last.lsn : null
        const losses = [...raw, ...(isPrimary ? [] : lost)]
        return visitServer(this.#follow(databaseId, target, place), { mark, change, losses })
      }),
    )
    const goesOn = (oid: number, scope: Loss['scope']) =>
      visits.some(({ left }) => left.some((one) => one.role === oid && one.scope === scope))
    return {
      open: marked.filter(({ role, left }) => left === undefined || goesOn(role, 'here')),
      logins: logins.filter(({ oid }) => goesOn(oid, 'everywhere')),
      pending: visits.flatMap(({ pending }) => pending),
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#followed.values()].map(({ server }) => server.database.close()))
  }

  #follow(databaseId: string, target: Servers, place: Place): FollowedServer {
    const name = `${place.host}:${place.port}`
    const id = `${databaseId} ${name}`
    const known = this.#followed.get(id)
    if (known?.key === target.key) return known.server
    void known?.server.database.close()
    const server = new FollowedServer(name, target.connectTo(place))
    this.#followed.set(id, { key: target.key, server })
    return server
  }
}

/** Other servers than the primary serve sessions. */
export const hasStandbys = (target: Servers | undefined) => (target?.standbyPlaces.length ?? 0) > 0

function isAt(primary: Place | undefined, place: Place): boolean {
  return primary !== undefined && isSamePlace(primary, place)
}
