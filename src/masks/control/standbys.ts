import type { Note } from '../../contracts/note.ts'
import type { Database } from '../../db/database.ts'
import { isSamePlace, type Place } from '../../db/database-url.ts'
import { AwaitedAnswers, silence } from './awaited-answers.ts'
import {
  type AskedServer,
  askReplayed,
  type Mark,
  readLastChange,
  readMark,
  readStandings,
} from './read-replay.ts'
import {
  endAtStandby,
  type LeftOpen,
  noteUnasked,
  type OpenEntry,
  replaceOpen,
} from './sessions/open-sessions.ts'

/** The binding of a database whose standbys may serve sessions. */
export interface StandbyTarget {
  /** Changes with the binding: a new address needs a new connection. */
  readonly key: string
  /** The servers of its cluster; none where read-only sessions are for the primary too. */
  readonly standbyPlaces: readonly Place[]
  connectTo(place: Place): Database
}

/** A binding with the servers that it lists, whether or not they serve sessions. */
type ListedTarget = Pick<StandbyTarget, 'key' | 'connectTo'> & { readonly places: readonly Place[] }

interface Controller {
  connect(databaseId: string): Promise<Database | null>
}

interface Source {
  find(databaseId: string): Promise<StandbyTarget | null>
}

interface Follower extends AskedServer {
  readonly key: string
  /** `127.0.0.1:5432` */
  readonly name: string
  /** An end of the primary's log that it has not replayed at the last look, and when that was read. */
  mark: { readonly at: number; readonly lsn: string } | null
  /** All that the primary had written then is replayed. */
  caughtUpAt: number
  /** Since when it lacks a change of masks; null: it has them all. */
  behindSince: number | null
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
/** One that lacks a change of masks for longer serves no sessions, and the change counts without it. */
const mostBehindMs = 7_000
const pollMs = 25

/** The record's list of sessions that may hold raw rows. */
interface OpenRecord {
  readonly schema: string
  readonly open: readonly OpenEntry[]
}

type Replay = 'unknown' | 'replayed' | 'behind' | 'silent'

/**
 * The standbys of bound databases. Masks and grants reach a standby by replay, so it serves a session only when it has
 * replayed all that the primary had written when the session asked for it.
 */
export class Standbys {
  readonly #controller: Controller
  readonly #source: Source
  readonly #followers = new Map<string, Follower>()

  constructor(controller: Controller, source: Source) {
    this.#controller = controller
    this.#source = source
  }

  /**
   * A standby that has replayed everything, and the role's standing from before. Undefined: the primary has to serve.
   */
  async choose(
    databaseId: string,
    role: string,
  ): Promise<{ readonly place: Place; readonly standing: string } | undefined> {
    const [target, primary] = await this.#open(databaseId)
    const places = target?.standbyPlaces ?? []
    if (!target || !primary || places.length === 0) return undefined
    // The standing comes first: a change after it is noticed by its text, one before it is replayed.
    const standing = (await readStandings(primary, [role])).get(role)
    if (standing === undefined) return undefined
    const mark = await readMark(primary)
    const others = places.filter((place) => !isAt(primary.primary(), place))
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
    const [target, primary] = await this.#open(databaseId)
    if (!target || !primary) return { standings: new Map(), close: [] }
    const standings = await readStandings(primary, roles)
    const mark = await readMark(primary)
    const judged = await Promise.all(
      target.standbyPlaces.map(async (place) =>
        (await isClose(this.#follow(databaseId, target, place), mark)) ? [place] : [],
      ),
    )
    return { standings, close: judged.flat() }
  }

  /**
   * Why the last change of masks is pending, of whichever node, until the standbys have replayed it. Those that take
   * too long serve no sessions of the gateway any more: a note tells of them. Ends the sessions at standbys that the
   * record lists.
   */
  async judge(
    databaseId: string,
    target: StandbyTarget | undefined,
    primary: Database,
    { schema, open }: OpenRecord,
  ): Promise<{ readonly pending: string | null; readonly notes: readonly Note[] }> {
    const places = target?.standbyPlaces ?? []
    if (!target || places.every((place) => isAt(primary.primary(), place)))
      return { pending: null, notes: [] }
    const mark = await readMark(primary)
    const until = performance.now() + replayWaitMs
    const servers = await Promise.all(
      places.map(async (place) => {
        const follower = this.#follow(databaseId, target, place)
        const entries = open.filter((entry) => entry.place === follower.name)
        // The primary may be one of them by another name; an open cursor may hold up the replay.
        const isPrimary = isAt(primary.primary(), place)
        const first = isPrimary ? 'replayed' : await readReplay(follower, primary, mark, 0)
        if (first === 'behind') await endSessions(follower, entries, false)
        const replay = first === 'behind' ? await readReplay(follower, primary, mark, until) : first
        const ending = await endSessions(follower, entries, replay === 'replayed' || replay === 'unknown')
        return { follower, replay, ...ending }
      }),
    )
    const here = open.filter(({ place }) => place === undefined)
    await replaceOpen(primary.sql, schema, open, [...here, ...servers.flatMap((one) => one.open)])
    const behind = servers.flatMap(({ follower, replay }) => {
      const isBehind = replay === 'behind' || replay === 'silent'
      follower.behindSince = isBehind ? (follower.behindSince ?? performance.now()) : null
      return isBehind ? [{ ...follower, replay }] : []
    })
    const isGivenUp = ({ behindSince }: Follower) => performance.now() - (behindSince ?? 0) > mostBehindMs
    const [late, givenUp] = [behind.filter((one) => !isGivenUp(one)), behind.filter(isGivenUp)]
    return {
      pending: late.length === 0 ? null : late.map(describeBehind).join(' '),
      notes: [...servers.flatMap(({ notes }) => notes), ...givenUp.map(noteBehind)],
    }
  }

  /** The servers that the binding lists beside the primary, by host:port. */
  listOthers(databaseId: string, target: ListedTarget, primary: Database): ReadonlyMap<string, AskedServer> {
    // The primary of one host is not known by its place.
    const servers = target.places.length > 1 ? target.places : []
    const others = servers.filter((place) => !isAt(primary.primary(), place))
    return new Map(others.map((place) => [nameOf(place), this.#follow(databaseId, target, place)]))
  }

  async close(): Promise<void> {
    await Promise.all([...this.#followers.values()].map(({ database }) => database.close()))
  }

  async #open(databaseId: string): Promise<[StandbyTarget | null, Database | null]> {
    return await Promise.all([this.#source.find(databaseId), this.#controller.connect(databaseId)])
  }

  #follow(databaseId: string, target: Pick<StandbyTarget, 'key' | 'connectTo'>, place: Place): Follower {
    const key = `${databaseId} ${nameOf(place)}`
    const known = this.#followers.get(key)
    if (known?.key === target.key) return known
    void known?.database.close()
    const follower: Follower = {
      ...{ key: target.key, name: nameOf(place), database: target.connectTo(place) },
      ...{ answers: new AwaitedAnswers(), mark: null, behindSince: null },
      caughtUpAt: Number.NEGATIVE_INFINITY,
    }
    this.#followers.set(key, follower)
    return follower
  }
}

async function isClose(follower: Follower, { lsn, ...mark }: Mark): Promise<boolean> {
  const now = performance.now()
  const last = follower.mark ?? { at: now, lsn }
  const [hasLast, hasAll] = (await askReplayed(follower, { lsn, ...mark }, [last.lsn, lsn])) ?? []
  if (hasLast) follower.caughtUpAt = hasAll ? now : last.at
  follower.mark = hasAll ? null : hasLast ? { at: now, lsn } : last
  return performance.now() - follower.caughtUpAt < mostLagMs
}

/** Unknown for a server that cannot be asked, or that follows another primary: no session is sent there. */
async function readReplay(follower: Follower, primary: Database, mark: Mark, until: number): Promise<Replay> {
  const { database, answers } = follower
  for (;;) {
    if ((await askReplayed(follower, mark, [])) === undefined) return answers.isSilent ? 'silent' : 'unknown'
    // Each time anew: the standby may have replayed a later change meanwhile.
    const change = await readLastChange(primary.sql)
    // A statement that the replay cancels, or keeps waiting, has shown nothing.
    const shown = await answers.ask(() => readLastChange(database.sql)).catch(() => undefined)
    if (shown === change) return 'replayed'
    if (shown === silence) return 'silent'
    if (performance.now() > until) return 'behind'
    await pause()
  }
}

async function awaitReplay(follower: Follower, mark: Mark): Promise<boolean> {
  const until = performance.now() + loginWaitMs
  for (;;) {
    const [isThere] = (await askReplayed(follower, mark, [mark.lsn], loginWaitMs)) ?? []
    if (isThere) follower.caughtUpAt = performance.now()
    if (isThere || isThere === undefined || performance.now() > until) return isThere ?? false
    await pause()
  }
}

/** Entries of a server that cannot be asked stay. */
async function endSessions(
  { name, database, answers }: Follower,
  entries: readonly OpenEntry[],
  isReplayed: boolean,
): Promise<LeftOpen> {
  if (entries.length === 0) return { notes: [], open: [] }
  const unasked = noteUnasked(name, entries)
  const ending = await answers
    .ask(() => endAtStandby(database, name, entries, isReplayed))
    .catch(() => unasked)
  return ending === silence ? unasked : ending
}

/** The servers of a binding that may serve sessions, as host:port. */
export const listStandbys = (target: Pick<StandbyTarget, 'standbyPlaces'> | undefined) =>
  (target?.standbyPlaces ?? []).map(nameOf)

const nameOf = ({ host, port }: Place) => `${host}:${port}`

const pause = () => new Promise((resolve) => setTimeout(resolve, pollMs))

interface Behind {
  readonly name: string
  readonly replay: Replay
}

function describeBehind({ name, replay }: Behind): string {
  const fault = replay === 'silent' ? 'does not answer, and may not have replayed' : 'has not replayed'
  return `The standby ${name} ${fault} the last change of masks.`
}

/** The gateway sends no sessions there. Clients that connect to it by themselves are not in our hands. */
function noteBehind(behind: Behind): Note {
  const effect =
    'The gateway uses it no more; clients that connect to it directly may read raw values until it has.'
  return { code: 'StandbyBehind', target: behind.name, message: `${describeBehind(behind)} ${effect}` }
}

function isAt(primary: Place | undefined, place: Place): boolean {
  return primary !== undefined && isSamePlace(primary, place)
}
