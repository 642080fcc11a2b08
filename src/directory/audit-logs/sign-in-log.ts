import { createHash } from 'node:crypto'
import type { Logger } from 'pino'
import type { Query } from '../../db/query.ts'
import { foldPrincipalName } from '../../kernel/fold-principal-name.ts'
import { nameNetwork } from '../../kernel/network.ts'
import type { SignInAttempt, SignInGroup } from './sign-in-attempt.ts'
import { deleteSignInsBefore, storeSignIns } from './store-sign-ins.ts'

export interface SignInLogOptions {
  readonly sql: Query
  readonly tenantId: string
  readonly days: number
  readonly log: Logger
}

const windowMs = 60_000
const flushMs = 500
const pruneMs = 60 * 60 * 1000
/** Cap on the groups that wait while the store is unavailable. */
const maxWaiting = 10_000

/**
 * Rows that a node starts per minute. A client can fail with any names, client ids and addresses: beyond these numbers
 * its attempts are counted in one row of its network, and then in one row for all.
 */
const limits = {
  failed: { ofNetwork: 10, ofAll: 30 },
  succeeded: { ofNetwork: 3_000, ofAll: 3_000 },
} as const

/** Writes sign-ins some moments after they happened; no sign-in waits for it. */
export class SignInLog {
  readonly #options: SignInLogOptions
  readonly #pruning: NodeJS.Timeout
  #flushing: NodeJS.Timeout | undefined
  #waiting = new Map<string, SignInGroup>()
  /** The rows of the present minute, and how many each network started. */
  #window = { start: 0, digests: new Set<string>(), started: new Map<string, number>() }
  #writing: Promise<void> | undefined
  #lost = 0
  #isAway = false

  constructor(options: SignInLogOptions) {
    this.#options = options
    this.#pruning = setInterval(() => void this.#prune(), pruneMs).unref()
  }

  record(attempt: SignInAttempt): void {
    const now = Date.now()
    const start = now - (now % windowMs)
    if (this.#window.start !== start) this.#window = { start, digests: new Set(), started: new Map() }
    const group = this.#admit(attempt)
    const digest = digestOf(group)
    const key = `${start} ${digest}`
    const present = this.#waiting.get(key)
    if (present) {
      present.count++
      present.lastAt = now
    } else if (this.#waiting.size < maxWaiting)
      this.#waiting.set(key, {
        digest,
        attempt: group,
        windowStart: start,
        firstAt: now,
        lastAt: now,
        count: 1,
      })
    else this.#lost++
    this.#flushSoon()
  }

  /** Writes the attempts that wait, as far as the store takes them. */
  async close(): Promise<void> {
    clearInterval(this.#pruning)
    clearTimeout(this.#flushing)
    await this.#writing
    await this.#flush()
  }

  /** The attempt itself, or the one that stands for all that are not listed one by one. */
  #admit(attempt: SignInAttempt): SignInAttempt {
    const { digests, started } = this.#window
    if (digests.has(digestOf(attempt))) return attempt
    const outcome = attempt.failure ? 'failed' : 'succeeded'
    const network = `${outcome} ${nameNetwork(attempt.address)}`
    const ofNetwork = started.get(network) ?? 0
    const ofAll = started.get(outcome) ?? 0
    const { address, correlationId } = attempt
    const unlisted: SignInAttempt = {
      by: attempt.by,
      failure: attempt.failure && 'notListed',
      address: ofAll < limits[outcome].ofAll ? address : '',
      correlationId,
    }
    if (ofAll >= limits[outcome].ofAll) return { ...unlisted, by: 'page' }
    const admitted = ofNetwork < limits[outcome].ofNetwork ? attempt : unlisted
    const digest = digestOf(admitted)
    if (digests.has(digest)) return admitted
    digests.add(digest)
    started.set(network, ofNetwork + 1)
    started.set(outcome, ofAll + 1)
    return admitted
  }

  #flushSoon(): void {
    this.#flushing ??= setTimeout(() => {
      this.#flushing = undefined
      void this.#flush()
    }, flushMs).unref()
  }

  #flush(): Promise<void> {
    if (this.#waiting.size === 0) return Promise.resolve()
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  async #write(): Promise<void> {
    const { sql, tenantId, log } = this.#options
    const groups = this.#waiting
    this.#waiting = new Map()
    try {
      await storeSignIns(sql, tenantId, [...groups.values()])
      if (this.#lost > 0) log.error({ count: this.#lost }, 'sign-ins were lost from the audit')
      this.#lost = 0
      this.#isAway = false
    } catch (err) {
      for (const [key, group] of groups) this.#putBack(key, group)
      if (!this.#isAway) log.error({ err }, 'sign-ins cannot be written to the audit; they wait')
      this.#isAway = true
      this.#flushSoon()
    }
  }

  #putBack(key: string, group: SignInGroup): void {
    const newer = this.#waiting.get(key)
    if (!newer && this.#waiting.size >= maxWaiting) this.#lost += group.count
    else
      this.#waiting.set(
        key,
        newer ? { ...group, count: group.count + newer.count, lastAt: newer.lastAt } : group,
      )
  }

  async #prune(): Promise<void> {
    const { sql, tenantId, days, log } = this.#options
    await deleteSignInsBefore(sql, tenantId, days).catch((err: unknown) =>
      log.warn({ err }, 'old sign-ins could not be deleted'),
    )
  }
}

/** The same for attempts that one row stands for. */
function digestOf({ by, failure, user, application, address, database }: SignInAttempt): string {
  const parts = [by, failure, user && foldPrincipalName(user), application, nameNetwork(address), database]
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22)
}
