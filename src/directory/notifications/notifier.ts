import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Standing } from '../../auth/principals.ts'
import { isRewritten, readRevision, selectEntries, selectRevision } from '../../db/change-log.ts'
import { postGuarded } from '../../db/guarded-post.ts'
import type { HostGuard } from '../../db/host-guard.ts'
import type { Pulse } from '../../db/pulse.ts'
import type { Fragment, Query } from '../../db/query.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'
import type { TokenGrounds } from '../../kernel/token-grounds.ts'
import { type LoggedChange, logKinds, renderMissed, renderNotifications } from './render-notifications.ts'
import { clientStatePlace, type Subscription, subscriptionColumns } from './subscription.ts'

export interface NotifierParts {
  readonly sql: Query
  readonly pulse: Pulse
  readonly tenantId: string
  readonly guard: HostGuard
  readonly secrets: SecretBox
  readonly log: Logger
  /** For each of the tokens whether it was revoked by now. */
  findRevoked(tokens: readonly TokenGrounds[]): Promise<readonly boolean[]>
  readStanding(objectId: string, applicationId: string): Promise<Standing>
}

/** Changes of a directory come in bursts: one look for all of them. */
const gatherMs = 50
const atOnce = 8
/** Places of one creator among those: clients of one caller that answer slowly must not delay those of others. */
const atOnceOfCreator = 2
const slowMs = 2_000
/** A slow client waits this many times as long as its answer took. */
const slowFactor = 4
const mostInOne = 100
const postTimeoutMs = 10_000
const leaseSeconds = 30
const longestWaitSeconds = 300

/**
 * Delivers notifications from the change log. The position of a subscription moves when its client has taken what lies
 * before: a crash of the client or of a node repeats notifications and loses none. A lease lets one node deliver at a time.
 */
export class Notifier {
  readonly #parts: NotifierParts
  readonly #stopAsking: () => void
  #gathering: NodeJS.Timeout | undefined
  /** The creators of the subscriptions that are being delivered to. */
  readonly #sending = new Map<Promise<void>, string>()
  #running: Promise<void> | undefined
  #isDue = false
  #closed = false

  constructor(parts: NotifierParts) {
    this.#parts = parts
    const isDue = parts.sql`exists (select from change_subscription where ${this.#isDueNow()})`
    this.#stopAsking = parts.pulse.ask(isDue, (answer: boolean) => answer && this.#look())
  }

  /** The directory may have changed. */
  hear(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined
      this.#look()
    }, gatherMs).unref()
  }

  #look(): void {
    this.#isDue = true
    if (this.#closed || this.#running) return
    this.#running = this.#fill().finally(() => {
      this.#running = undefined
      if (this.#isDue) this.#look()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stopAsking()
    clearTimeout(this.#gathering)
    await this.#running
    await Promise.all(this.#sending.keys())
  }

  /** Starts deliveries in the free places; each that ends looks for the next. */
  async #fill(): Promise<void> {
    this.#isDue = false
    const free = atOnce - this.#sending.size
    if (free <= 0) return
    const lease = randomUUID()
    try {
      for (const subscription of await this.#claim(lease, free)) {
        const sending: Promise<void> = this.#deliver(subscription, lease)
          .catch((err) => this.#warnOfStore(err))
          .finally(() => {
            this.#sending.delete(sending)
            this.#look()
          })
        this.#sending.set(sending, subscription.creatorId)
      }
    } catch (err) {
      this.#warnOfStore(err)
    }
  }

  #warnOfStore(err: unknown): void {
    this.#parts.log.warn({ err }, 'notifications wait: the store did not answer')
  }

  /**
   * Takes subscriptions that are behind, unless another node delivers to them. Creators take turns: those with the fewest
   * deliveries under way come first, and none has more than its places.
   */
  async #claim(lease: string, free: number): Promise<Subscription[]> {
    const { sql, tenantId } = this.#parts
    const isDue = this.#isDueNow()
    return await sql<Subscription[]>`
      update change_subscription set lease = ${lease}, leased_until = now() + make_interval(secs => ${leaseSeconds})
      where tenant_id = ${tenantId} and id in (
        select id from change_subscription
        join (
          select id as turn_id, row_number() over (partition by creator_id order by next_attempt_at)
            + (select count(*) from unnest(${[...this.#sending.values()]}::uuid[]) busy where busy = creator_id) as turn
          from change_subscription where ${isDue}
        ) creators on turn_id = id
        where ${isDue} and turn <= ${atOnceOfCreator}
        order by turn, next_attempt_at limit ${free} for update of change_subscription skip locked)
      returning ${subscriptionColumns(sql)}`
  }

  #isDueNow(): Fragment {
    const { sql, tenantId } = this.#parts
    return sql`tenant_id = ${tenantId} and expires_at > now() and next_attempt_at <= now()
      and (leased_until is null or leased_until < now()) and position <> ${selectRevision(sql, tenantId)}`
  }

  async #deliver(subscription: Subscription, lease: string): Promise<void> {
    const { log } = this.#parts
    try {
      const startedAt = performance.now()
      const position = await this.#send(subscription)
      await this.#release(subscription, lease, position, performance.now() - startedAt)
    } catch (err) {
      log.warn({ err, subscription: subscription.id }, 'a notification was not taken; it is sent again')
      await this.#postpone(subscription, lease)
    }
  }

  /** Sends what is next and returns the position behind it. */
  async #send(subscription: Subscription): Promise<number> {
    const { sql, tenantId } = this.#parts
    await this.#requireStanding(subscription)
    const newest = await readRevision(sql, tenantId)
    if (await this.#isBroken(subscription.position, newest)) {
      if (subscription.lifecycleUrl !== null)
        await this.#post(subscription.lifecycleUrl, renderMissed(this.#stamp(subscription)))
      return newest
    }
    const { position, kind, objectId } = subscription
    const changes = await sql<LoggedChange[]>`
      select revision, at, entity_id as id, kind, other from (${selectEntries(sql, tenantId, position + 1, newest)}) entry
      where entity = ${kind} and (${objectId}::uuid is null or entity_id = ${objectId}::text)
        and kind = any(${logKinds(subscription)})
      order by revision limit ${mostInOne}`
    const last = changes.at(-1)
    if (last)
      await this.#post(subscription.notificationUrl, renderNotifications(this.#stamp(subscription), changes))
    return changes.length < mostInOne || !last ? newest : last.revision
  }

  /** The log does not lead from the position to the newest revision: it was pruned, rewritten or restored. */
  async #isBroken(position: number, newest: number): Promise<boolean> {
    if (position >= newest) return position > newest
    const { sql, tenantId } = this.#parts
    const [next] =
      await sql`select 1 from (${selectEntries(sql, tenantId, position + 1, position + 1)}) entry`
    return next === undefined || (await isRewritten(sql, tenantId, position))
  }

  /** Deleted and disabled principals hear nothing, nor those whose token was revoked, until they renew. */
  async #requireStanding(subscription: Subscription): Promise<void> {
    const { creatorId, applicationId, renewedAt, grounds } = subscription
    const standing = await this.#parts.readStanding(creatorId, applicationId)
    const isCutOff = renewedAt.getTime() < standing.validFromMs
    // An earlier release stored no grounds: by them an outside issuer, which decides by itself, would show.
    const isShutOut = !standing.isAdmitted && grounds?.isOurs !== false
    if (!standing.enabled || standing.client !== 'enabled' || isCutOff || isShutOut)
      throw new Error('the creator of the subscription may not hear of changes')
    const [isRevoked] = grounds ? await this.#parts.findRevoked([grounds]) : [false]
    if (isRevoked !== false) throw new Error('the token of the subscription was revoked')
  }

  #stamp(subscription: Subscription) {
    const { secrets, tenantId } = this.#parts
    const { id, clientState } = subscription
    return {
      subscription,
      tenantId,
      clientState: clientState && secrets.open(clientStatePlace(id), clientState),
    }
  }

  async #post(address: string, value: object): Promise<void> {
    const { status } = await postGuarded(this.#parts.guard, {
      url: new URL(address),
      contentType: 'application/json; charset=utf-8',
      body: JSON.stringify(value),
      timeoutMs: postTimeoutMs,
    })
    if (status < 200 || status > 299) throw new Error(`the client answered ${status}`)
  }

  async #release({ id }: Subscription, lease: string, position: number, tookMs: number): Promise<void> {
    const { sql, tenantId } = this.#parts
    const pauseSeconds = tookMs < slowMs ? 0 : (tookMs * slowFactor) / 1000
    await sql`
      update change_subscription
      set position = ${position}, attempts = 0, next_attempt_at = now() + make_interval(secs => ${pauseSeconds}), lease = null, leased_until = null
      where tenant_id = ${tenantId} and id = ${id} and lease = ${lease}`
  }

  async #postpone({ id, attempts }: Subscription, lease: string): Promise<void> {
    const { sql, tenantId } = this.#parts
    const seconds = Math.min(longestWaitSeconds, 2 ** Math.min(attempts, 10)) * (0.5 + Math.random() / 2)
    await sql`
      update change_subscription set attempts = attempts + 1, lease = null, leased_until = null,
        next_attempt_at = now() + make_interval(secs => ${seconds})
      where tenant_id = ${tenantId} and id = ${id} and lease = ${lease}`
  }
}
