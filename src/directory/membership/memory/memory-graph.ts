import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { LogEntry } from '../../../db/change-log.ts'
import type { Database } from '../../../db/database.ts'
import {
  type Explanation,
  type GroupChoice,
  listMemberships,
  type MembershipGraph,
  type Memberships,
  type Target,
} from '../graph.ts'
import { countMemberships, estimateBytes, loadIndex } from './load-index.ts'
import type { LogFeed } from './log-feed.ts'
import type { MembershipIndex } from './membership-index.ts'
import type { MembershipMetrics } from './metrics.ts'
import { fillChoice, findTarget, readMemberships } from './read-memberships.ts'

export interface MemoryGraphOptions {
  readonly tenantId: string
  readonly database: Database
  readonly feed: LogFeed
  /** Answers while the index is not there or cannot be brought up to date. */
  readonly sql: MembershipGraph
  readonly memoryBytes: number
  /** Changes that are merged at once; only tests need another number. */
  readonly mergeAtLeast?: number
  readonly log: Logger
  readonly metrics: MembershipMetrics
}

export interface IndexSize {
  readonly objects: number
  readonly edges: number
  readonly bytes: number
  /** The part of `bytes` that the edges take. */
  readonly edgeBytes: number
}

export const noIndex: IndexSize = { objects: 0, edges: 0, bytes: 0, edgeBytes: 0 }

/** Further behind than this, loading anew is faster than following. */
const mostChanges = 20_000
const retryLoadMs = 5_000
/** Hints come in bursts; a question waits for none of them. */
const gatherMs = 50
/** One answer of so many is compared with SQL, one at a time. A prime: requests ask several questions in one order, and each has its turn. */
const auditEvery = 499
/** A list of more members is not read for a comparison, as that takes long. */
const mostCompared = 20_000

/**
 * Memberships from memory, as new as those from SQL: a question is answered only after a check, sent after the question
 * came, has shown that the index has every committed change. Questions that come while a check is under way share the
 * next one, so that under load a check costs each of them next to nothing.
 */
export class MemoryGraph implements MembershipGraph {
  readonly #options: MemoryGraphOptions
  #index: MembershipIndex | undefined
  #entry: LogEntry = { revision: 0, mark: '' }
  /** The session of the feed in which the log was seen to be the one that the index follows. */
  #session = -1
  #running: Promise<MembershipIndex | undefined> | undefined
  #queued: Promise<MembershipIndex | undefined> | undefined
  #loading: Promise<void> | undefined
  #loadAgainAt = 0
  #answers = 0
  #auditing: Promise<void> | undefined
  #isClosed = false
  #hinted: NodeJS.Timeout | undefined

  constructor(options: MemoryGraphOptions) {
    this.#options = options
    options.metrics.show(() => this.size())
    this.#load()
  }

  /** A hint that the directory changed: brings the index up to date before a question has to wait for it. */
  hear(): void {
    if (!this.#index) return
    this.#hinted ??= setTimeout(() => {
      this.#hinted = undefined
      if (!this.#isClosed) void this.#reach()
    }, gatherMs).unref()
  }

  /** Resolves when no load is under way. */
  async settled(): Promise<void> {
    while (this.#loading) await this.#loading
  }

  size(): IndexSize {
    return this.#index?.size ?? noIndex
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#hinted)
    await Promise.allSettled([this.#loading, this.#running, this.#queued, this.#auditing])
  }

  async membershipsOf(tenantId: string, target: Target, choice: GroupChoice = {}): Promise<Memberships> {
    const index = this.#count(await this.#present(tenantId))
    if (!index) return await this.#options.sql.membershipsOf(tenantId, target, choice)
    this.#sample(() => this.#compareGroups(target))
    return readMemberships(index, target, choice)
  }

  async membershipsAmong(
    tenantId: string,
    target: Target,
    candidates: readonly string[],
    choice: Pick<GroupChoice, 'includeRoles'> = {},
  ): Promise<Memberships> {
    const index = this.#count(await this.#present(tenantId))
    if (!index) return await this.#options.sql.membershipsAmong(tenantId, target, candidates, choice)
    this.#sample(() => this.#compareGroups(target))
    const { object, found } = findTarget(index, target)
    const ids = found ? index.groupsAmong(object, candidates, choice.includeRoles ?? false) : []
    return listMemberships(index.revision, found, ids)
  }

  async groupsOf(tenantId: string, objectId: string, choice: GroupChoice = {}): Promise<string[]> {
    const index = this.#count(await this.#present(tenantId))
    if (!index) return await this.#options.sql.groupsOf(tenantId, objectId, choice)
    this.#sample(() => this.#compareGroups(objectOf(objectId)))
    const groups = index.groupsOf(index.numberOf(objectId), fillChoice(choice))
    return Array.from(groups, (group) => index.objects.idOf(group))
  }

  async groupsAmong(
    tenantId: string,
    objectId: string,
    candidates: readonly string[],
    choice: Pick<GroupChoice, 'includeRoles'> = {},
  ): Promise<string[]> {
    const index = this.#count(await this.#present(tenantId))
    if (!index) return await this.#options.sql.groupsAmong(tenantId, objectId, candidates, choice)
    this.#sample(() => this.#compareGroups(objectOf(objectId)))
    return index.groupsAmong(index.numberOf(objectId), candidates, choice.includeRoles ?? false)
  }

  async groupsWithin(tenantId: string, containerId: string): Promise<string[]> {
    const index = this.#count(await this.#present(tenantId))
    if (!index) return await this.#options.sql.groupsWithin(tenantId, containerId)
    this.#sample(() => this.#compareMembers(containerId))
    const container = index.numberOf(containerId)
    return container < 0 ? [containerId] : index.groupsWithin(container)
  }

  async membersOf(tenantId: string, containerId: string): Promise<string[]> {
    const index = this.#count(await this.#present(tenantId))
    if (!index) return await this.#options.sql.membersOf(tenantId, containerId)
    this.#sample(() => this.#compareMembers(containerId))
    const container = index.numberOf(containerId)
    return container < 0 ? [] : index.membersOf(container)
  }

  async explain(tenantId: string, objectId: string, groupId: string): Promise<Explanation> {
    const index = this.#count(await this.#present(tenantId))
    if (!index) return await this.#options.sql.explain(tenantId, objectId, groupId)
    this.#sample(() => this.#compareGroups(objectOf(objectId)))
    const [from, to] = [index.numberOf(objectId), index.numberOf(groupId)]
    return {
      hasObject: from >= 0 && index.objects.isAlive(from),
      hasGroup: to >= 0 && index.objects.isContainer(to),
      chain: from < 0 || to < 0 ? null : index.explain(from, to),
    }
  }

  /** The index with every change that was committed before the call; undefined when SQL has to answer. */
  #present(tenantId: string): Promise<MembershipIndex | undefined> | undefined {
    return tenantId === this.#options.tenantId ? this.#reach() : undefined
  }

  #count(index: MembershipIndex | undefined): MembershipIndex | undefined {
    this.#options.metrics.countAnswer(index ? 'memory' : 'sql')
    return index
  }

  /** Joins the check that is sent next: one that is under way was sent too early for this question. */
  #reach(): Promise<MembershipIndex | undefined> {
    this.#queued ??= this.#checkNext()
    return this.#queued
  }

  /** Sends one check at a time, and each for all requests that the event loop has read by then. */
  async #checkNext(): Promise<MembershipIndex | undefined> {
    await this.#running
    await yieldToOthers()
    this.#queued = undefined
    this.#running = this.#advance().catch((err: unknown) => {
      this.#options.log.debug({ err }, 'memberships are asked of SQL: the change log cannot be read')
      return undefined
    })
    return await this.#running
  }

  async #advance(): Promise<MembershipIndex | undefined> {
    const index = this.#index
    if (!index) {
      if (Date.now() >= this.#loadAgainAt) this.#load()
      return undefined
    }
    const { feed, metrics } = this.#options
    metrics.countCheck()
    const newest = await feed.readNewest()
    if (feed.session !== this.#session && !(await this.#recognise())) return undefined
    if (this.#index !== index) return undefined
    if (newest === index.revision) return index
    if (newest < index.revision) return this.#drop('the change log is shorter than it was')
    if (newest - index.revision > mostChanges) return this.#drop('the index is too far behind')
    const changes = await feed.readChanges(index.revision)
    if (!changes) return this.#drop('the change log has a gap')
    // A connection that was lost in between leads to a log that was not compared.
    if (feed.session !== this.#session || this.#index !== index) return undefined
    if (changes.entry) {
      index.apply(changes.entry.revision, changes.edges, changes.states)
      this.#entry = changes.entry
    }
    void index.merge(yieldToOthers, this.#options.mergeAtLeast)
    return index
  }

  /** On a new connection: is this the log that the index was made from? After a failover or a restore it may not be. */
  async #recognise(): Promise<boolean> {
    const { feed } = this.#options
    const session = feed.session
    if (!(await feed.has(this.#entry))) {
      this.#drop('the change log is another one')
      return false
    }
    if (feed.session !== session) return false
    this.#session = session
    return true
  }

  #drop(reason: string): undefined {
    this.#options.log.warn({ reason }, 'the membership index is loaded anew')
    this.#index = undefined
    this.#load()
  }

  #load(): void {
    if (this.#loading || this.#isClosed) return
    this.#loading = this.#loadNow()
      .catch((err: unknown) => {
        this.#loadAgainAt = Date.now() + retryLoadMs
        if (!this.#isClosed) this.#options.log.warn({ err }, 'the membership index could not be loaded')
      })
      .finally(() => {
        this.#loading = undefined
      })
  }

  async #loadNow(): Promise<void> {
    const { database, tenantId, memoryBytes, log, metrics } = this.#options
    const { objects, edges } = await countMemberships(database, tenantId)
    const needed = estimateBytes(objects, edges)
    if (needed > memoryBytes) {
      this.#loadAgainAt = Date.now() + 60 * retryLoadMs
      log.warn({ objects, edges, needed, memoryBytes }, 'the membership index does not fit: SQL answers')
      return
    }
    log.info({ objects, edges }, 'loading the membership index')
    const startedAt = performance.now()
    const { index, entry } = await loadIndex(database, tenantId)
    metrics.countLoad()
    // Known again by the next check before it is used: it was read over another connection.
    this.#session = -1
    this.#entry = entry
    this.#index = index
    const seconds = Math.round(performance.now() - startedAt) / 1000
    log.info({ ...index.size, revision: index.revision, seconds }, 'the membership index is loaded')
  }

  /** Counts an answer, and compares memory and SQL about it where its turn has come. */
  #sample(compare: () => Promise<void>): void {
    if (++this.#answers % auditEvery !== 0 || this.#auditing || this.#isClosed) return
    this.#auditing = compare()
      .catch(() => {})
      .finally(() => {
        this.#auditing = undefined
      })
  }

  async #compareGroups(target: Target): Promise<void> {
    const { sql, tenantId } = this.#options
    const choice = { includeRoles: true }
    const expected = await sql.membershipsOf(tenantId, target, choice)
    const index = await this.#reach()
    if (!index || index.revision !== expected.revision) return
    const actual = readMemberships(index, target, choice)
    const isEqual =
      actual.found?.id === expected.found?.id &&
      actual.found?.kind === expected.found?.kind &&
      areSame(actual.ids, expected.ids)
    this.#judge(isEqual, expected.found?.id, index)
  }

  /** SQL answers between two looks at one revision, so its answer is of that revision. */
  async #compareMembers(containerId: string): Promise<void> {
    const { sql, tenantId } = this.#options
    const before = await this.#reach()
    const revision = before?.revision
    const container = before?.numberOf(containerId) ?? -1
    if (!before || container < 0 || before.membersOf(container).length > mostCompared) return
    const expected = await sql.membersOf(tenantId, containerId)
    const index = await this.#reach()
    if (!index || index.revision !== revision) return
    this.#judge(areSame(index.membersOf(index.numberOf(containerId)), expected), containerId, index)
  }

  /** A difference is a defect: it is reported, and the index loaded anew. */
  #judge(isEqual: boolean, object: string | undefined, { revision }: MembershipIndex): void {
    this.#options.metrics.countAudit(isEqual ? 'equal' : 'different')
    if (isEqual) return
    this.#options.log.error({ object, revision }, 'the membership index was wrong')
    this.#drop('it differed from the store')
  }
}

function objectOf(key: string): Target {
  return { key, isName: false, kind: undefined }
}

function areSame(some: readonly string[], others: readonly string[]): boolean {
  return some.toSorted().join() === others.toSorted().join()
}
