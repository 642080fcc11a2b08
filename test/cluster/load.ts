import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import type { Answer, Write } from '../support/membership-history.ts'
import type { History } from './history.ts'
import type { Entrances } from './nodes.ts'

export interface LoadParts {
  readonly entrances: Entrances
  readonly tenantId: string
  readonly client: { readonly id: string; readonly secret: string }
  readonly groups: readonly string[]
  readonly users: readonly string[]
  readonly database: { readonly url: string; readonly name: string }
  readonly roles: { readonly analyst: string; readonly writer: string; readonly password: string }
}

export const kinds = [
  'directory write',
  'membership read',
  'rule change',
  'token',
  'gateway read',
  'gateway write',
] as const
export type Kind = (typeof kinds)[number]

/** An answer that a client can act on: later, or elsewhere. 507: the disk is full, and nothing was changed. */
const cleanStatuses = [429, 502, 503, 504, 507]
/** 42501: the masks of a session are refreshed a moment after those of the database, which denies meanwhile. */
const cleanCodes = /^(42501|08...|53...|57P0.|57014|25006|40001|40P01|55P03|E[A-Z]+|UND_ERR.*)$/
const cleanMessages = /terminated|timeout|closed|ended|hang up|aborted|fetch failed|not queryable|terminate/i

const avoidMs = 10_000

class Unclean extends Error {}

/** The clients of the cluster. Each goes on until `stop`, whatever it is answered. */
export class Load {
  readonly #parts: LoadParts
  readonly #writes: Write[] = []
  readonly #answers: Answer[] = []
  readonly #notes: number[] = []
  readonly #seen = new Map<string, number>()
  readonly #unclean = new Map<string, number>()
  readonly #failures = new Map<Kind, number>()
  readonly #successes = new Map<Kind, number[]>(kinds.map((kind) => [kind, []]))
  readonly #avoided = new Map<number, number>()
  #token = ''
  #isOver = false
  #work: Promise<unknown> = Promise.resolve()

  constructor(parts: LoadParts) {
    this.#parts = parts
  }

  get history(): History {
    return {
      writes: this.#writes,
      answers: this.#answers,
      notes: this.#notes,
      seen: this.#seen,
      unclean: this.#unclean,
    }
  }

  async start(): Promise<void> {
    await this.#takeToken()
    let rule = 0
    let note = 0
    const pairs = this.#choosePairs()
    const added: [string, string][] = []
    this.#work = Promise.all([
      this.#repeat('token', 500, () => this.#takeToken()),
      this.#repeat('directory write', 80, () => this.#write(pairs, added)),
      this.#repeat('membership read', 60, () => this.#read()),
      this.#repeat('membership read', 60, () => this.#read()),
      this.#repeat('rule change', 500, () => this.#changeRule(rule++)),
      this.#repeat('gateway read', 120, this.#openReader()),
      this.#repeat(
        'gateway write',
        120,
        this.#openWriter(() => ++note),
      ),
    ])
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#work
  }

  /** Milliseconds after `from` when every kind of request had succeeded again, three times each; undefined: not yet. */
  recoveredAfter(from: number): number | undefined {
    const times = kinds.map((kind) => this.#recoveredAt(kind, from))
    return times.includes(undefined) ? undefined : Math.max(...(times as number[])) - from
  }

  /** The kinds that took longest to recover, the last one first, each with its seconds. */
  describeSlowest(from: number): string {
    return kinds
      .map((kind) => ({ kind, ms: (this.#recoveredAt(kind, from) ?? Number.POSITIVE_INFINITY) - from }))
      .sort((a, b) => b.ms - a.ms)
      .slice(0, 3)
      .map(({ kind, ms }) => `${kind} ${(ms / 1000).toFixed(1)}`)
      .join(', ')
  }

  #recoveredAt(kind: Kind, from: number): number | undefined {
    return this.#successes.get(kind)?.filter((at) => at > from)[2]
  }

  /** Kinds that have not succeeded three times since then. */
  listWaiting(from: number): Kind[] {
    return kinds.filter((kind) => (this.#successes.get(kind)?.filter((at) => at > from).length ?? 0) < 3)
  }

  describe(): string {
    return kinds
      .map(
        (kind) =>
          `${kind}: ${this.#successes.get(kind)?.length} good, ${this.#failures.get(kind) ?? 0} refused`,
      )
      .join('; ')
  }

  async #repeat(kind: Kind, pauseMs: number, run: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      // Requests that were under way when a fault began say nothing about the time after it.
      const startedAt = performance.now()
      try {
        await run()
        this.#successes.get(kind)?.push(startedAt)
      } catch (error) {
        this.#failures.set(kind, (this.#failures.get(kind) ?? 0) + 1)
        this.#noteUnclean(kind, error)
        await wait(100)
      }
      await wait(pauseMs)
    }
  }

  #noteUnclean(kind: Kind, error: unknown): void {
    const {
      code = '',
      message = '',
      cause,
    } = error as { code?: string; message?: string; cause?: { code?: string } }
    const isClean =
      !(error instanceof Unclean) &&
      (cleanCodes.test(code) || cleanCodes.test(cause?.code ?? '') || cleanMessages.test(message))
    if (isClean) return
    const what = `${kind}: ${code} ${message}`.slice(0, 200)
    this.#unclean.set(what, (this.#unclean.get(what) ?? 0) + 1)
  }

  /** A client that waits for a stopped node gives up by its own clock. */
  async #send(method: string, path: string, body?: unknown, patienceMs = 8_000): Promise<Response> {
    const port = this.#choosePort(this.#parts.entrances.http)
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: {
        ...(!(body instanceof URLSearchParams) && {
          authorization: `Bearer ${this.#token}`,
          'content-type': 'application/json',
        }),
      },
      ...(body !== undefined && { body: body instanceof URLSearchParams ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(patienceMs),
    }).catch((error: unknown) => {
      this.#avoid(port)
      throw error
    })
    if (response.ok) return response
    const text = await response.text()
    if (cleanStatuses.includes(response.status)) throw new Error(`closed: ${response.status}`)
    throw new Unclean(`${response.status} ${text.slice(0, 120)}`)
  }

  /** Without a balancer, clients know several nodes, and leave one that did not answer alone for a while. */
  #choosePort(ports: readonly number[]): number {
    const good = ports.filter((port) => (this.#avoided.get(port) ?? 0) < performance.now())
    const from = good.length > 0 ? good : ports
    return from[Math.floor(Math.random() * from.length)] ?? 0
  }

  #avoid(port: number): void {
    this.#avoided.set(port, performance.now() + avoidMs)
  }

  async #takeToken(): Promise<void> {
    const { tenantId, client } = this.#parts
    const form = { grant_type: 'client_credentials', client_id: client.id, client_secret: client.secret }
    const response = await this.#send('POST', `/${tenantId}/oauth2/v2.0/token`, new URLSearchParams(form))
    const { access_token = '' } = (await response.json()) as { access_token?: string }
    this.#token = access_token
  }

  async #write(pairs: Iterator<[string, string]>, added: [string, string][]): Promise<void> {
    const removed = Math.random() < 0.4 ? added.shift() : undefined
    const pair: [string, string] | undefined = removed ?? pairs.next().value
    if (!pair) throw new Unclean('there are too few pairs')
    const [container, member] = pair
    const response = removed
      ? await this.#send('DELETE', `/v1.0/groups/${container}/members/${member}/$ref`)
      : await this.#send('POST', `/v1.0/groups/${container}/members/$ref`, {
          '@odata.id': `https://directory.example/v1.0/directoryObjects/${member}`,
        })
    await response.arrayBuffer()
    const kind = removed ? 'memberRemoved' : 'memberAdded'
    this.#writes.push({ kind, container, member, acknowledgedAt: performance.now() })
    if (!removed) added.push(pair)
  }

  async #read(): Promise<void> {
    const all = [...this.#parts.users, ...this.#parts.groups]
    const object = all[Math.floor(Math.random() * all.length)] ?? ''
    const startedAt = performance.now()
    const response = await this.#send('POST', `/v1.0/directoryObjects/${object}/getMemberGroups`, {
      securityEnabledOnly: false,
    })
    const { value } = (await response.json()) as { value: string[] }
    const revision = Number(response.headers.get('x-masquerade-revision'))
    this.#answers.push({ object, startedAt, revision, ids: value })
  }

  /** The telephone number changes between masks; the e-mail address stays masked all the time. */
  async #changeRule(turn: number): Promise<void> {
    const properties = {
      schemaName: 'public',
      tableName: 'person',
      columnName: 'phone',
      ...(turn % 2 === 0
        ? { maskingFunction: 'Default' }
        : { maskingFunction: 'Text', prefixSize: '1', suffixSize: '0', replacementString: 'XX' }),
    }
    const path = `${this.#parts.database.url}/dataMaskingPolicies/Default/rules/phone?api-version=2014-04-01`
    const response = await this.#send('PUT', path, { properties }, 15_000)
    await response.arrayBuffer()
    const state = response.headers.get('x-masquerade-enforcement')
    if (state !== 'Enforced') throw new Error(`closed: the rule is ${state}`)
  }

  #openSession(user: string): () => Promise<pg.Client> {
    let open: Promise<pg.Client> | undefined
    return () => {
      const { entrances, database, roles } = this.#parts
      open ??= (async () => {
        const port = this.#choosePort(entrances.gateway)
        const client = new pg.Client({
          host: '127.0.0.1',
          port,
          user,
          password: roles.password,
          database: database.name,
          connectionTimeoutMillis: 6_000,
          query_timeout: 8_000,
        })
        const forget = () => {
          open = undefined
        }
        client.on('error', forget)
        client.on('end', forget)
        try {
          await client.connect()
        } catch (error) {
          forget()
          this.#avoid(port)
          void client.end().catch(() => {})
          throw error
        }
        return client
      })()
      open.catch(() => {
        open = undefined
      })
      return open
    }
  }

  async #use(session: () => Promise<pg.Client>, run: (client: pg.Client) => Promise<void>): Promise<void> {
    const client = await session()
    // A stopped node would never answer a farewell.
    const leave = () => void Reflect.get(client, 'connection')?.stream?.destroy()
    try {
      await run(client)
    } catch (error) {
      // Whatever it was at, the next one begins anew.
      leave()
      throw error
    }
    // New sessions come to other nodes.
    if (Math.random() < 0.05) leave()
  }

  #openReader(): () => Promise<void> {
    const session = this.#openSession(this.#parts.roles.analyst)
    return () =>
      this.#use(session, async (client) => {
        const { rows } = await client.query('select email, phone from public.person where id = 1')
        for (const value of [rows[0].email, rows[0].phone])
          this.#seen.set(value, (this.#seen.get(value) ?? 0) + 1)
      })
  }

  #openWriter(next: () => number): () => Promise<void> {
    const session = this.#openSession(this.#parts.roles.writer)
    return () =>
      this.#use(session, async (client) => {
        const id = next()
        await client.query('begin')
        await client.query('insert into public.note (id, body) values ($1, $2)', [id, `note ${id}`])
        await client.query('commit')
        this.#notes.push(id)
      })
  }

  *#choosePairs(): Generator<[string, string]> {
    const { groups, users } = this.#parts
    const all = groups.flatMap((group) =>
      [...users, ...groups].filter((one) => one !== group).map((member): [string, string] => [group, member]),
    )
    for (const pair of all.sort(() => Math.random() - 0.5)) yield pair
  }
}
