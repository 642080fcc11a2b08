import type { Database } from '../db/database.ts'
import { isSamePlace, type Place } from '../db/database-url.ts'
import type { Sql } from '../db/sql.ts'
import { endAtStandby, type LeftOpen, noteUnasked, type OpenEntry } from './open-sessions.ts'
import { AskedServer, askReplayed, type Mark, readMark, silence } from './replay.ts'

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
  /** Another text after every change of masks. */
  readLastChange(sql: Sql): Promise<string>
  /** For each role a text that changes with its rights and with the masks of the database. */
  readStandings(
    database: Pick<Database, 'sql'>,
    roles: readonly string[],
  ): Promise<ReadonlyMap<string, string>>
}

interface Follower {
  readonly key: string
  /** `127.0.0.1:5432` */
  readonly name: string
  readonly database: Database
  readonly server: AskedServer
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
/** The next turn waits so long for a standby of this one. */
const replayWaitMs = 1_000
const pollMs = 25

type Replay = 'unknown' | 'replayed' | 'behind' | 'silent'

/**
 * The standbys of bound databases. Masks and grants reach a standby by replay, so it serves a session only when it has
 * replayed all that the primary had written when the session asked for it.
 */
export class Standbys {
  readonly #needs: Needs
  readonly #followers = new Map<string, Follower>()

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
    if (!target?.standbyPlaces.length || !primary) return undefined
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
   * Why the last change of masks is pending, of whichever node, until the standbys have replayed it. Ends the sessions at
   * standbys that the record lists.
   */
  async judge(
    databaseId: string,
    primary: Database,
    open: readonly OpenEntry[],
  ): Promise<LeftOpen & { readonly pending: string }> {
    const target = this.#needs.targetOf(databaseId)
    const places = target?.standbyPlaces ?? []
    if (!target || places.every((place) => isAt(primary.primary(), place)))
      return { pending: '', notes: [], open }
    const mark = await readMark(primary)
    const servers = await Promise.all(
      places.map(async (place) => {
        const follower = this.#follow(databaseId, target, place)
        const entries = open.filter((entry) => entry.place === follower.name)
        // The primary may be one of them by another name.
        const of = isAt(primary.primary(), place) ? null : primary
        return {
          name: follower.name,
          ...(await compare(follower, of, mark, entries, this.#needs.readLastChange)),
        }
      }),
    )
    const here = open.filter(({ place }) => place === undefined)
    return {
      open: [...here, ...servers.flatMap((one) => one.open)],
      pending: servers.flatMap(describeBehind).join(' '),
      notes: servers.flatMap(({ notes }) => notes),
    }
  }

  /** The servers that the binding lists beside the primary, by host:port. */
  listOthers(databaseId: string, primary: Database): ReadonlyMap<string, AskedServer> {
    const target = this.#needs.targetOf(databaseId)
    if (!target) throw new Error('the binding was removed')
    // The primary of one host is not known by its place.
    const servers = target.places.length > 1 ? target.places : []
    const others = servers.filter((place) => !isAt(primary.primary(), place))
    return new Map(others.map((place) => [nameOf(place), this.#follow(databaseId, target, place).server]))
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
      ...{ mark: null, caughtUpAt: Number.NEGATIVE_INFINITY },
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

/** Waits for the replay, and ends sessions all the time: an open cursor may hold it up. No `primary`: it is there. */
async function compare(
  follower: Follower,
  primary: Database | null,
  mark: Mark,
  entries: readonly OpenEntry[],
  readLastChange: Needs['readLastChange'],
): Promise<LeftOpen & { readonly replay: Replay }> {
  for (const until = performance.now() + replayWaitMs; ; await pause()) {
    const replay = primary ? await readReplay(follower, primary, mark, readLastChange) : 'replayed'
    const isReplayed = replay === 'replayed' || replay === 'unknown'
    const ending = await endSessions(follower, entries, isReplayed)
    if (replay !== 'behind' || performance.now() > until) return { replay, ...ending }
  }
}

/** Unknown for a server that cannot be asked, or that follows another primary: no session is sent there. */
async function readReplay(
  { server }: Follower,
  primary: Database,
  mark: Mark,
  readLastChange: Needs['readLastChange'],
): Promise<Replay> {
  if ((await askReplayed(server, mark, [])) === undefined) return server.isSilent ? 'silent' : 'unknown'
  // Each time anew: the standby may have replayed a later change meanwhile.
  const change = await readLastChange(primary.sql)
  // A statement that the replay cancels, or keeps waiting, has shown nothing.
  const shown = await server.ask(readLastChange).catch(() => undefined)
  if (shown === silence) return 'silent'
  return shown === change ? 'replayed' : 'behind'
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

/** Entries of a server that cannot be asked stay. */
async function endSessions(
  { name, server }: Follower,
  entries: readonly OpenEntry[],
  isReplayed: boolean,
): Promise<LeftOpen> {
  if (entries.length === 0) return { notes: [], open: [] }
  const unasked = noteUnasked(name, entries)
  const ending = await server
    .ask((sql) => endAtStandby({ sql }, name, entries, isReplayed))
    .catch(() => unasked)
  return ending === silence ? unasked : ending
}

/** The servers of a binding that may serve sessions, as host:port. */
export const listStandbys = (target: Servers | undefined) => (target?.standbyPlaces ?? []).map(nameOf)

const nameOf = ({ host, port }: Place) => `${host}:${port}`

const pause = () => new Promise((resolve) => setTimeout(resolve, pollMs))

/** The gateway sends no sessions there. Clients that connect to it by themselves are not in our hands. */
function describeBehind({ name, replay }: { readonly name: string; readonly replay: Replay }): string[] {
  if (replay !== 'behind' && replay !== 'silent') return []
  const fault = replay === 'silent' ? 'does not answer, and may not have replayed' : 'has not replayed'
  const advice = 'Where it is not in service any more, remove it from the hosts of the binding.'
  return [`The standby ${name} ${fault} the last change of masks. ${advice}`]
}

function isAt(primary: Place | undefined, place: Place): boolean {
  return primary !== undefined && isSamePlace(primary, place)
}
