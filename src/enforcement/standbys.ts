import type { Database } from '../db/database.ts'
import { isSamePlace, type Place } from '../db/database-url.ts'
import { AwaitedAnswers, silence } from './awaited-answers.ts'
import { readLastChange } from './guard/read-record.ts'
import type { Lease } from './lease.ts'
import type { Note } from './plan.ts'
import { type AskedServer, askReplayed, type Mark, readMark } from './read-replay.ts'
import { readStandings } from './read-standings.ts'
import { endAtStandby, noteUnasked, type StandbyEnding } from './sessions/end-at-standby.ts'
import { type OpenEntry, replaceOpen } from './sessions/read-open.ts'

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
  /** Ends of the primary's log at past looks, the oldest first, as far as they are not replayed. */
  marks: { readonly at: number; readonly lsn: string }[]
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
const settleWaitMs = 2_000
const pollMs = 25
/** Several turns may wait for one standby, and ask the primary meanwhile. */
const longestPollMs = 200
const lookAgainMs = 1_000

/** The record's list of sessions that may hold raw rows. */
interface OpenRecord {
  readonly schema: string
  readonly open: readonly OpenEntry[]
}

interface Judged {
  readonly record: OpenRecord
  readonly lease: Pick<Lease, 'readLast'>
  /** The state is not `Enforced` during the wait: other nodes, and turns of before the change, may have written it. */
  readonly suspend: (reason: string) => Promise<void>
}

interface Judgement {
  readonly pending: string | null
  readonly notes: readonly Note[]
  /** When to look again. */
  readonly dueMs: number | null
  /** The epoch of the last turn that the judgement knows of. Null: no standby was judged. */
  readonly lastTurn: number | null
}

const nothingBehind: Judgement = { pending: null, notes: [], dueMs: null, lastTurn: null }

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

  /** A standby that has replayed everything, and the role's standing from before. Undefined: the primary has to serve. */
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
    const until = performance.now() + loginWaitMs
    const found = await Promise.any(
      others.map(async (place) => {
        if (await this.#awaitReplay(databaseId, target, place, mark, until)) return place
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
        (await this.#isClose(databaseId, target, place, mark)) ? [place] : [],
      ),
    )
    return { standings, close: judged.flat() }
  }

  /**
   * Why the last change of masks is pending, of whichever node, until the standbys have replayed it. Those that take too long serve no
   * sessions of the gateway any more: a note tells of them. Ends the sessions at standbys that the record lists.
   */
  async judge(
    databaseId: string,
    target: StandbyTarget | undefined,
    primary: Database,
    { record, lease, suspend }: Judged,
  ): Promise<Judgement> {
    const servers = target?.standbyPlaces ?? []
    const places = servers.filter((place) => !isAt(primary.primary(), place))
    if (!target || places.length === 0) return nothingBehind
    // Before the change is read: one that another node makes later has another turn.
    const { epoch: lastTurn, endedMs } = await lease.readLast()
    const begun = performance.now()
    const isLeftOut = () => endedMs + performance.now() - begun > mostLagMs + settleWaitMs
    const mark = await readMark(primary)
    const readReplays = async (until: number) => {
      const read = (place: Place) => this.#readReplay(databaseId, target, place, primary, mark, until)
      return new Map(
        await Promise.all(places.map(async (place) => [nameOf(place), await read(place)] as const)),
      )
    }
    const listBehind = (replays: ReadonlyMap<string, Replay>): Behind[] =>
      places.flatMap((place) => {
        const replay = replays.get(nameOf(place))
        return replay === 'behind' || replay === 'silent' ? [{ name: nameOf(place), replay }] : []
      })
    const listed = record.open.filter(({ place }) => place !== undefined)
    const first = await readReplays(0)
    const late = listBehind(first)
    if (late.length === 0 && listed.length === 0) return { ...nothingBehind, lastTurn }
    if (late.length > 0 && !isLeftOut()) await suspend(describeBehind(late))
    // An open cursor may hold up the replay.
    if (late.length > 0 || listed.some(({ pid }) => pid === undefined))
      await this.#endSessions(databaseId, target, servers, listed, () => false)
    const replays = late.length > 0 ? await readReplays(performance.now() + settleWaitMs) : first
    const behind = listBehind(replays)
    const isReplayed = (place: Place) => (replays.get(nameOf(place)) ?? 'replayed') === 'replayed'
    const { notes, open } = await this.#endSessions(databaseId, target, servers, listed, isReplayed)
    const here = record.open.filter(({ place }) => place === undefined)
    await replaceOpen(primary.sql, record.schema, record.open, [...here, ...open])
    return behind.length === 0 || isLeftOut()
      ? { ...nothingBehind, lastTurn, notes: [...notes, ...behind.map(noteBehind)] }
      : { pending: describeBehind(behind), notes, dueMs: lookAgainMs, lastTurn }
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

  /**
   * Before the replay, and after it: a session that was ended before it could begin anew, and read what was still open. Entries
   * of a server that cannot be asked stay.
   */
  async #endSessions(
    databaseId: string,
    target: StandbyTarget,
    servers: readonly Place[],
    listed: readonly OpenEntry[],
    isReplayed: (place: Place) => boolean,
  ): Promise<StandbyEnding> {
    const endings = await Promise.all(
      servers.map(async (place): Promise<StandbyEnding> => {
        const name = nameOf(place)
        const entries = listed.filter((entry) => entry.place === name)
        if (entries.length === 0) return { notes: [], open: [] }
        const unasked = noteUnasked(name, entries)
        const { database, answers } = this.#follow(databaseId, target, place)
        const end = () => endAtStandby(database, name, entries, isReplayed(place))
        const ending = await answers.ask(end).catch(() => unasked)
        return ending === silence ? unasked : ending
      }),
    )
    return {
      notes: endings.flatMap(({ notes }) => notes),
      open: endings.flatMap(({ open }) => open),
    }
  }

  #follow(databaseId: string, target: Pick<StandbyTarget, 'key' | 'connectTo'>, place: Place): Follower {
    const name = `${databaseId} ${place.host}:${place.port}`
    const known = this.#followers.get(name)
    if (known?.key === target.key) return known
    void known?.database.close()
    const database = target.connectTo(place)
    const answers = new AwaitedAnswers()
    const follower = { key: target.key, database, answers, marks: [], caughtUpAt: Number.NEGATIVE_INFINITY }
    this.#followers.set(name, follower)
    return follower
  }

  async #isClose(databaseId: string, target: StandbyTarget, place: Place, mark: Mark): Promise<boolean> {
    const follower = this.#follow(databaseId, target, place)
    const now = performance.now()
    follower.marks.push({ at: now, lsn: mark.lsn })
    const lsns = follower.marks.map(({ lsn }) => lsn)
    const replayed = (await askReplayed(follower, mark, lsns)) ?? []
    const reached = replayed.lastIndexOf(true)
    if (reached >= 0) follower.caughtUpAt = follower.marks[reached]?.at ?? follower.caughtUpAt
    follower.marks = follower.marks.slice(reached + 1).slice(-60)
    return performance.now() - follower.caughtUpAt < mostLagMs
  }

  /** Unknown for a server that cannot be asked, or that follows another primary: no session is sent there. */
  async #readReplay(
    databaseId: string,
    target: StandbyTarget,
    place: Place,
    primary: Database,
    mark: Mark,
    until: number,
  ): Promise<Replay> {
    const follower = this.#follow(databaseId, target, place)
    const { database, answers } = follower
    for (let pauseMs = pollMs; ; pauseMs = Math.min(pauseMs * 2, longestPollMs)) {
      if ((await askReplayed(follower, mark, [])) === undefined)
        return answers.isSilent ? 'silent' : 'unknown'
      // Each time anew: the standby may have replayed a later change meanwhile.
      const change = await readLastChange(primary.sql)
      // A statement that the replay cancels, or keeps waiting, has shown nothing.
      const shown = await answers.ask(() => readLastChange(database.sql)).catch(() => undefined)
      if (shown === change) return 'replayed'
      if (shown === silence) return 'silent'
      if (performance.now() > until) return 'behind'
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  async #awaitReplay(
    databaseId: string,
    target: StandbyTarget,
    place: Place,
    mark: Mark,
    until: number,
  ): Promise<boolean> {
    const follower = this.#follow(databaseId, target, place)
    for (;;) {
      const [isThere] = (await askReplayed(follower, mark, [mark.lsn], loginWaitMs)) ?? []
      if (isThere) follower.caughtUpAt = performance.now()
      if (isThere || isThere === undefined || performance.now() > until) return isThere ?? false
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
  }
}

/** The servers of a binding that may serve sessions, as host:port. */
export const listStandbys = (target: Pick<StandbyTarget, 'standbyPlaces'> | undefined) =>
  (target?.standbyPlaces ?? []).map(nameOf)

const nameOf = ({ host, port }: Place) => `${host}:${port}`

type Replay = 'unknown' | 'replayed' | 'behind' | 'silent'

interface Behind {
  readonly name: string
  readonly replay: 'behind' | 'silent'
}

function describeBehind(behind: readonly Behind[]): string {
  const late = behind.filter(({ replay }) => replay === 'behind').map(({ name }) => name)
  const told = late.length > 0 ? [`Not yet replayed by the standby ${late.join(', ')}.`] : []
  const silent = behind.filter(({ replay }) => replay === 'silent')
  return [
    'The masks hold at the primary.',
    ...told,
    ...silent.map(({ name }) => `The standby ${name} does not answer.`),
  ].join(' ')
}

/** The gateway sends no sessions there. Clients that connect to it by themselves are not in our hands. */
function noteBehind({ name: target, replay }: Behind): Note {
  const fault =
    replay === 'behind'
      ? 'has not replayed the last change of masks'
      : 'does not answer, and may not have replayed the last change of masks'
  const message = `The standby ${target} ${fault}. The gateway uses it no more; clients that connect to it directly may read raw values until it has.`
  return { code: 'StandbyBehind', target, message }
}

function isAt(primary: Place | undefined, place: Place): boolean {
  return primary !== undefined && isSamePlace(primary, place)
}
