import type { Database } from '../db/database.ts'
import { isSamePlace, type Place } from '../db/database-url.ts'
import { isRole, type OpenEntry } from './open-sessions.ts'
import { AskedServer, askReplayed, type Mark, readMark } from './replay.ts'
import { type Loss, type VisitedServer, visitServer } from './visit-server.ts'

/** The servers of a binding. */
interface Servers {
  /** Changes with the binding: a new address needs a new connection. */
  readonly key: string
  connectTo(place: Place): Database
  readonly places: readonly Place[]
  /** Those that may serve sessions; none where read-only sessions are for the primary too. */
  readonly standbyPlaces: readonly Place[]
}

/** What the room needs of bindings and masks. */
interface Needs {
  /** Null: the database is not bound. */
  open(databaseId: string): Promise<Database | null>
  /** Of an open database. */
  targetOf(databaseId: string): Servers | undefined
  /** For each role a text that changes with its rights and with the masks of the database. */
  readStandings(
    database: Pick<Database, 'sql'>,
    roles: readonly string[],
  ): Promise<ReadonlyMap<string, string>>
}

interface Follower extends VisitedServer {
  readonly key: string
  readonly database: Database
  /** An end of the primary's log that it has not replayed at the last look, and when that was read. */
  mark: { readonly at: number; readonly lsn: string } | null
  /** All that the primary had written then is replayed. */
  caughtUpAt: number
}

export interface StandbyLook {
  /** For each role a text that is another one as soon as its rights or the masks of the database are. */
  readonly standings: ReadonlyMap<string, string>
  /** The standbys that are behind by less than the limit. */
  readonly close: readonly Place[]
}

/** A standby further behind serves no sessions. */
const mostLagMs = 5_000
const loginWaitMs = 1_000
const pollMs = 25

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
  readonly #needs: Needs
  readonly #followers = new Map<string, Follower>()
  /** By database: the version of its records, and an end of the primary's log behind their change. */
  readonly #changes = new Map<string, { readonly version: string; readonly lsn: string }>()

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * A standby that has replayed everything, and the role's standing from before. Undefined: the primary has to serve.
   */
  async choose(
    databaseId: string,
    role: string,
  ): Promise<{ readonly place: Place; readonly standing: string } | undefined> {
    const primary = await this.#needs.open(databaseId)
    const target = this.#needs.targetOf(databaseId)
    if (!target || !hasStandbys(target) || !primary) return undefined
    // The standing comes first: a change after it is noticed by its text, one before it is replayed.
    const standing = (await this.#needs.readStandings(primary, [role])).get(role)
    if (standing === undefined) return undefined
    const mark = await readMark(primary)
    const others = target.standbyPlaces.filter((place) => !isAt(primary.primary(), place))
    const found = await Promise.any(
      others.map(async (place) => {
        if (await awaitReplay(this.#follow(databaseId, target, place), mark)) return place
        throw new Error('behind')
      }),
    ).catch(() => undefined)
    return found && { place: found, standing }
  }

  /** For sessions that are under way. Rejects when the primary cannot be asked. */
  async look(databaseId: string, roles: readonly string[]): Promise<StandbyLook> {
    const primary = await this.#needs.open(databaseId)
    const target = this.#needs.targetOf(databaseId)
    if (!target || !primary) return { standings: new Map(), close: [] }
    const standings = await this.#needs.readStandings(primary, roles)
    const mark = await readMark(primary)
    const judged = await Promise.all(
      target.standbyPlaces.map(async (place) =>
        (await isClose(this.#follow(databaseId, target, place), mark)) ? [place] : [],
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
    const target = this.#needs.targetOf(databaseId)
    // The primary of one host is not known by its place.
    const at = primary.primary()
    const isServing = hasStandbys(target)
    if (!target || !at || !(isServing || logins.length > 0)) return { open, logins: [], pending: [] }
    const mark = await readMark(primary)
    const known = this.#changes.get(databaseId)
    const last = known?.version === version ? known : { version, lsn: mark.lsn }
    this.#changes.set(databaseId, last)
    const marked = open.map((one) => (isRole(one) && !one.isSeen ? { left: mark.lsn, ...one } : one))
    const raw = marked.flatMap(({ role, left }) => (left ? [{ role, left, scope: 'here' as const }] : []))
    const lost = logins.map(({ oid, left }) => ({ role: oid, left, scope: 'everywhere' as const }))
    const visits = await Promise.all(
      target.places.map((place) => {
        const isPrimary = isSamePlace(at, place)
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
    await Promise.all([...this.#followers.values()].map(({ database }) => database.close()))
  }

  #follow(databaseId: string, target: Servers, place: Place): Follower {
    const key = `${databaseId} ${nameOf(place)}`
    const known = this.#followers.get(key)
    if (known?.key === target.key) return known
    void known?.database.close()
    const database = target.connectTo(place)
    const follower: Follower = {
      ...{ key: target.key, name: nameOf(place), database, server: new AskedServer(database) },
      ...{ open: new Map(), mark: null, caughtUpAt: Number.NEGATIVE_INFINITY },
    }
    this.#followers.set(key, follower)
    return follower
  }
}

async function isClose(follower: Follower, { lsn, ...mark }: Mark): Promise<boolean> {
  const now = performance.now()
  const last = follower.mark ?? { at: now, lsn }
  const [hasLast, hasAll] = (await askReplayed(follower.server, { lsn, ...mark }, [last.lsn, lsn])) ?? []
  if (hasLast) follower.caughtUpAt = hasAll ? now : last.at
  follower.mark = hasAll ? null : hasLast ? { at: now, lsn } : last
  return performance.now() - follower.caughtUpAt < mostLagMs
}

async function awaitReplay(follower: Follower, mark: Mark): Promise<boolean> {
  const until = performance.now() + loginWaitMs
  for (;;) {
    const [isThere] = (await askReplayed(follower.server, mark, [mark.lsn], loginWaitMs)) ?? []
    if (isThere) follower.caughtUpAt = performance.now()
    if (isThere || isThere === undefined || performance.now() > until) return isThere ?? false
    await pause()
  }
}

/** Other servers than the primary serve sessions. */
export const hasStandbys = (target: Servers | undefined) => (target?.standbyPlaces.length ?? 0) > 0

const nameOf = ({ host, port }: Place) => `${host}:${port}`

const pause = () => new Promise((resolve) => setTimeout(resolve, pollMs))

function isAt(primary: Place | undefined, place: Place): boolean {
  return primary !== undefined && isSamePlace(primary, place)
}
