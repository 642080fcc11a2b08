import type { Logger } from 'pino'
import { everySecond } from '../kernel/every-second.ts'
import { Problem } from '../kernel/problem.ts'
import { readFreeBytes } from './data-directory.ts'
import type { Database } from './database.ts'
import { ConnectionFailure, sqlstateOf, storageFull } from './sqlstate.ts'

export const storeStates = ['ready', 'unreachable', 'full'] as const
export type StoreState = (typeof storeStates)[number]

const reasons: Readonly<Record<Exclude<StoreState, 'ready'>, string>> = {
  unreachable: 'the database does not answer',
  full: 'the disk of the database is full',
}

const mebibyte = 1024 * 1024
/** Two files of write-ahead log: PostgreSQL stops when it cannot begin the next one. */
const leastFreeBytes = 32 * mebibyte
/** More than the least, so that the state does not change with every file. */
const enoughFreeBytes = 40 * mebibyte
/** Strangers stop before callers do, so that these get their tokens. More than the timer misses of a flood. */
const strangersLeastBytes = 64 * mebibyte
const strangersEnoughBytes = 72 * mebibyte
/** Without the privilege to create a table, only the next write can tell that there is room again. */
const fullWithoutProbeMs = 30_000

/** Refuses a write while the service has no room for it. A stranger is a client without a signed-in person. */
export type RequireRoom = (writer?: 'callers' | 'strangers') => void

interface Watched {
  readonly database: Database
  /** Of an embedded server: its files are here, on a disk that the service can look at. */
  readonly dataDir?: string | undefined
}

/** Follows whether the service's own database can be read and written, and logs each change of state once. */
export class StoreHealth {
  readonly #log: Logger
  #state: StoreState = 'ready'
  #watched: Watched | undefined
  #stop = () => {}
  #probe: Promise<StoreState> | undefined
  /** The first failure whose reason the probe under way looks for. */
  #doubt: unknown
  #lastFullAt = 0
  #refusesStrangers = false
  readonly #seen = new WeakSet<object>()
  readonly #refusals = new WeakSet<object>()

  constructor(log: Logger) {
    this.#log = log
  }

  get state(): StoreState {
    return this.#state
  }

  watch(watched: Watched): void {
    this.#watched = watched
    this.#stop = everySecond(() => void this.#tick(watched))
  }

  /** Statements that fail tell of a store that is away. */
  async #tick({ dataDir }: Watched): Promise<void> {
    if (this.#state === 'ready' && (dataDir === undefined || !(await this.#hasLittleRoom(dataDir)))) return
    await this.#look()
  }

  close(): void {
    this.#stop()
    this.#watched = undefined
  }

  /** Learns from a failure of a statement or connection of the service's own database. */
  note(error: unknown): void {
    if (error instanceof Error) {
      this.#seen.add(error)
      if (error.cause instanceof Error) this.#seen.add(error.cause)
    }
    if (isFull(error)) {
      this.#lastFullAt = Date.now()
      this.#change('full')
    } else if (isOutage(error) && this.#watched) {
      this.#doubt ??= error
      void this.#look()
    }
  }

  /**
   * Null, or why the database is not ready. Everybody may ask, so asking does not look for room on a full disk, which
   * takes writes; the timer does.
   */
  async check(): Promise<string | null> {
    const state = this.#state === 'full' ? 'full' : await this.#look()
    return state === 'ready' ? null : reasons[state]
  }

  /**
   * Refuses a write while the disk of an embedded server is nearly full: PostgreSQL would stop with its disk full, and
   * reads with it. An outside server says by itself when it has no room.
   */
  requireRoom(writer: Parameters<RequireRoom>[0] = 'callers'): void {
    if (this.#watched?.dataDir === undefined) return
    if (this.#state !== 'full' && !(writer === 'strangers' && this.#refusesStrangers)) return
    const refusal = storageFull()
    this.#refusals.add(refusal)
    throw refusal
  }

  /** True for a failure that the logged state explains. Failures of other databases are not explained by it. */
  explains(error: unknown): boolean {
    if (error instanceof Error && this.#refusals.has(error)) return true
    const isOut = this.#state !== 'ready' || this.#doubt !== undefined
    return isOut && error instanceof Error && this.#seen.has(error) && (isOutage(error) || isFull(error))
  }

  #look(): Promise<StoreState> {
    this.#probe ??= this.#ask().finally(() => {
      this.#probe = undefined
    })
    return this.#probe
  }

  async #ask(): Promise<StoreState> {
    const state = await this.#findState()
    if (!this.#watched) return this.#state
    const doubt = this.#doubt
    this.#doubt = undefined
    if (doubt !== undefined && state === 'ready' && this.#state === 'ready')
      this.#log.warn({ err: doubt }, 'a connection to the database of the service was lost')
    this.#change(state)
    return state
  }

  async #findState(): Promise<StoreState> {
    if (!this.#watched) return this.#state
    const { database, dataDir } = this.#watched
    try {
      if (dataDir !== undefined && (await this.#hasLittleRoom(dataDir))) return 'full'
      if (this.#state === 'full') await extendTable(database)
      else await database.sql`select 1`
      return 'ready'
    } catch (error) {
      if (isFull(error)) return 'full'
      if (isOutage(error)) return 'unreachable'
      return this.#state === 'full' && Date.now() - this.#lastFullAt < fullWithoutProbeMs ? 'full' : 'ready'
    }
  }

  async #hasLittleRoom(dataDir: string): Promise<boolean> {
    const freeBytes = await readFreeBytes(dataDir).catch(() => Number.POSITIVE_INFINITY)
    const refused = freeBytes < (this.#refusesStrangers ? strangersEnoughBytes : strangersLeastBytes)
    if (refused && !this.#refusesStrangers)
      this.#log.warn({ freeBytes }, 'the disk of the database is nearly full: no new sign-ins are begun')
    this.#refusesStrangers = refused
    return freeBytes < (this.#state === 'full' ? enoughFreeBytes : leastFreeBytes)
  }

  #change(state: StoreState): void {
    if (state === this.#state) return
    this.#state = state
    if (state === 'ready') this.#log.info({ store: state }, 'the database of the service is ready again')
    else this.#log.error({ store: state, reason: reasons[state] }, 'the database of the service is not ready')
  }
}

const nothingStays = new Error('rolled back')

/** Needs new pages: small writes may still find room in old ones. */
async function extendTable({ transaction }: Database): Promise<void> {
  try {
    await transaction(async (tx) => {
      await tx`create unlogged table room_probe (filler text)`
      await tx`alter table room_probe alter filler set storage plain`
      await tx`insert into room_probe select repeat('x', 7000) from generate_series(1, 128)`
      throw nothingStays
    })
  } catch (error) {
    if (error !== nothingStays) throw error
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Problem && error.problem === 'StorageFull'
}

/** The server is away, or does not let the service in. Locks, conflicts and time limits are no outage. */
function isOutage(error: unknown): boolean {
  const cause = error instanceof Problem ? error.cause : error
  if (cause instanceof ConnectionFailure || /^(08|28|3D|57P0[1-3])/.test(sqlstateOf(error))) return true
  // Connections outside of the pool reject with the errors of their socket.
  return /^E(CONN|PIPE|TIMEDOUT|HOST|NET|NOTFOUND|AI_AGAIN)/.test(sqlstateOf(error))
}
