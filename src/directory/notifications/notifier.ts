import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Standing } from '../../auth/principals.ts'
import { isRewritten, readRevision, selectEntries, selectRevision } from '../../db/change-log.ts'
import { postGuarded } from '../../db/guarded-post.ts'
import type { HostGuard } from '../../db/host-guard.ts'
import type { Query } from '../../db/query.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'
import { type LoggedChange, logKinds, renderMissed, renderNotifications } from './render-notifications.ts'
import { clientStatePlace, type Subscription, subscriptionColumns } from './subscription.ts'

export interface NotifierParts {
  readonly sql: Query
  readonly tenantId: string
  readonly guard: HostGuard
  readonly secrets: SecretBox
  readonly log: Logger
  readStanding(objectId: string, applicationId: string): Promise<Standing>
}

const lookEveryMs = 2_000
const atOnce = 8
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
  readonly #timer: NodeJS.Timeout
  #running: Promise<void> | undefined
  #isDue = false
  #closed = false

  constructor(parts: NotifierParts) {
    this.#parts = parts
    this.#timer = setInterval(() => this.hear(), lookEveryMs).unref()
  }

  /** The directory may have changed. */
  hear(): void {
    this.#isDue = true
    if (this.#closed || this.#running) return
    this.#running = this.#work().finally(() => {
      this.#running = undefined
      if (this.#isDue) this.hear()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#timer)
    await this.#running
  }

  async #work(): Promise<void> {
    this.#isDue = false
    const { log } = this.#parts
    try {
      for (let claimed = 1; claimed > 0 && !this.#closed; ) {
        const lease = randomUUID()
        const subscriptions = await this.#claim(lease)
        claimed = subscriptions.length
        await Promise.all(subscriptions.map((one) => this.#deliver(one, lease)))
      }
    } catch (err) {
      log.warn({ err }, 'notifications wait: the store did not answer')
    }
  }

  /** Takes subscriptions that are behind, unless another node delivers to them. */
  async #claim(lease: string): Promise<Subscription[]> {
    const { sql, tenantId } = this.#parts
    return await sql<Subscription[]>`
      update change_subscription set lease = ${lease}, leased_until = now() + make_interval(secs => ${leaseSeconds})
      where tenant_id = ${tenantId} and id in (
        select id from change_subscription
        where tenant_id = ${tenantId} and expires_at > now() and next_attempt_at <= now()
          and (leased_until is null or leased_until < now()) and position <> ${selectRevision(sql, tenantId)}
        order by next_attempt_at limit ${atOnce} for update skip locked)
      returning ${subscriptionColumns(sql)}`
  }

  async #deliver(subscription: Subscription, lease: string): Promise<void> {
    const { log } = this.#parts
    try {
      await this.#release(subscription, lease, await this.#send(subscription))
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

  /** Deleted and disabled principals hear nothing, nor those whose tokens were voided, until they renew. */
  async #requireStanding({ creatorId, applicationId, renewedAt }: Subscription): Promise<void> {
    const standing = await this.#parts.readStanding(creatorId, applicationId)
    if (!standing.enabled || standing.client === 'disabled' || renewedAt.getTime() < standing.validFromMs)
      throw new Error('the creator of the subscription may not hear of changes')
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

  async #release({ id }: Subscription, lease: string, position: number): Promise<void> {
    const { sql, tenantId } = this.#parts
    await sql`
      update change_subscription
      set position = ${position}, attempts = 0, next_attempt_at = now(), lease = null, leased_until = null
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
