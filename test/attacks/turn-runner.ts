import pg from 'pg'
import type { Database } from '../../src/db/database.ts'
import { describeTurn } from '../../src/findings/turns/describe-turn.ts'
import type { MaskingFunction } from '../../src/masks/policy.ts'
import { takeTurn } from '../../src/masks/turn.ts'
import { type ClusterName, majorOf } from '../support/cluster.ts'
import { createMaskedDatabase, policy, rule } from '../support/masked-database.ts'
import type { Step, TurnCase } from './turn-case.ts'

const canary = 'zqcanary'
/** Locks of sessions in which mallory's code ran as another role stay when its transaction is rolled back. */
const trap = 170

const scenery = `
  create schema hr; create schema app; create schema lair authorization {mallory};
    create schema pub authorization {mallory};
  grant usage on schema hr, app, lair, pub to public; grant create on schema app to {mallory}, {owner};
  grant create on schema hr to {owner}, {binder}; grant usage on schema hr to {owner};
  grant usage on schema hr to {binder} with grant option;
  create table hr.client (id int, region int, mail text); insert into hr.client values (1, 1, '${canary}');
  create table hr.pay (id int, salary text); insert into hr.pay values (1, '${canary}');
  create table hr.secret (id int, word text); insert into hr.secret values (1, '${canary}');
  alter table hr.client owner to {owner}; alter table hr.pay owner to {owner}; alter table hr.secret owner to {owner};
  grant select on hr.client, hr.pay to {mallory}, {victim}, {auditor}; set role {mallory};
  create table pub.loot (by name, seen text); grant insert on pub.loot to public;
  create function pub.spy(seen text) returns boolean language plpgsql as $$ begin
    if current_user <> {mallory_text} then perform pg_catalog.pg_advisory_lock(${trap}); end if;
    insert into pub.loot values (current_user, seen); return true; end $$; reset role`

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>

/** One database, in which one case is played after the other, with a binding of one kind. */
export class TurnStage {
  readonly #cluster: ClusterName
  readonly #isSuperuser: boolean
  #target: Target | undefined
  #names: Readonly<Record<string, string>> = {}

  constructor(cluster: ClusterName, isSuperuser: boolean) {
    this.#cluster = cluster
    this.#isSuperuser = isSuperuser
  }

  /** What is wrong, a line each. */
  async play({ id, steps, since }: TurnCase): Promise<string[]> {
    if (since > majorOf(this.#cluster)) return []
    this.#target ??= await this.#open()
    const binding = this.#isSuperuser ? this.#target.database : this.#target.connectAs('binder')
    const scene = new TurnScene(this.#target, binding, (text) => this.#fill(text))
    const wrong = await scene.play(steps).catch((error: Error) => error.message)
    await scene.end()
    if (!wrong) return []
    // What a case left that did not end as it should would be in the way of the next.
    await this[Symbol.asyncDispose]()
    return [`${id} (${this.#isSuperuser ? 'superuser' : 'member of the owners'}): ${wrong}`]
  }

  async #open(): Promise<Target> {
    const target = await createMaskedDatabase(this.#cluster)
    const names: Record<string, string> = {}
    for (const name of ['mallory', 'victim', 'auditor']) names[name] = `"${await target.createRole(name)}"`
    names.owner = `"${await target.createRole('owner', 'NOLOGIN')}"`
    names.binder = `"${await target.createRole('binder', 'LOGIN CREATEROLE')}"`
    names.mallory_text = `'${target.role('mallory')}'`
    names.database = `"${target.url.replace(/^.*\//, '')}"`
    this.#names = names
    await target.database.sql.unsafe(
      this.#fill(
        `grant create on database {database} to {mallory}, {binder}; grant {owner}, {mallory} to {binder}`,
      ),
    )
    return target
  }

  #fill(text: string): string {
    return text.replaceAll(/\{([a-z_]+)\}/g, (whole, name: string) => this.#names[name] ?? whole)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#target?.[Symbol.asyncDispose]()
    this.#target = undefined
  }
}

class TurnScene {
  readonly #target: Target
  readonly #binding: Database
  readonly #fill: (text: string) => string
  readonly #sessions = new Map<string, pg.Client>()
  #meanwhile = ''
  #policy = policy([])
  #kept = ''
  #notes: readonly string[] = []
  #heard: unknown[] = []

  constructor(target: Target, binding: Database, fill: (text: string) => string) {
    this.#target = target
    this.#binding = binding
    this.#fill = fill
  }

  async play(steps: readonly Step[]): Promise<string> {
    await this.#runAs('operator', scenery)
    for (const [at, step] of steps.entries()) {
      const wrong = await this.#take(step).catch((error: Error) => error.message)
      if (wrong)
        return `step ${at + 1} (${step.actor ?? ''} ${step.verb}): ${wrong}; notes: ${this.#notes.join(', ')}`
    }
    const wrong = await this.#undo()
    await this.#runAs(
      'operator',
      'drop schema hr, app, lair, pub cascade; drop schema if exists aside cascade',
    )
    return wrong
  }

  async #take({ actor, verb, text }: Step): Promise<string> {
    if (actor && verb === 'runs') await this.#runAs(actor, text)
    else if (actor)
      for (const statement of text.split(/;;\s+/)) {
        const wrong = await this.#look(actor, verb, statement)
        if (wrong) return `${statement}: ${wrong}`
      }
    else if (verb === 'meanwhile') this.#meanwhile = text
    else if (verb === 'mask') return await this.#mask(text, [this.#target.role('auditor')])
    else if (verb === 'mask, nobody exempt') return await this.#mask(text, [])
    else if (verb === 'note') return this.#isNoted(text) ? '' : 'there is no such note'
    else if (verb === 'twins call nothing') return await this.#readTwins()
    else if (verb === 'holds') return await this.#ask(text)
    else return await this.#spring(text)
    return ''
  }

  #isNoted(text: string): boolean {
    const [note, part = ''] = text.split(': ')
    return this.#notes.some((one) => one.startsWith(`${note}: `) && one.includes(part))
  }

  async #ask(text: string): Promise<string> {
    const rows = await this.#runAs('operator', text)
    return rows.every((row) => Object.values(row)[0] === true) ? '' : `it is ${JSON.stringify(rows)}`
  }

  async #spring(text: string): Promise<string> {
    await this.#disarm()
    await this.#runAs('operator', text).catch(() => {})
    return (await this.#isSprung()) ? '' : 'the bait does not work'
  }

  async #runAs(actor: string, text: string): Promise<readonly Record<string, unknown>[]> {
    const session = await this.#open(actor)
    const rows: Record<string, unknown>[] = []
    const all =
      actor === 'owner' ? [`set role {owner}`, ...text.split(/;;\s+/), 'reset role'] : text.split(/;;\s+/)
    for (const statement of all)
      for (const result of [
        await session.query(this.#fill(statement).replaceAll('{keep}', this.#kept)),
      ].flat())
        rows.push(...result.rows)
    this.#kept = String(rows.at(-1)?.keep ?? this.#kept)
    return rows
  }

  async #open(actor: string): Promise<pg.Client> {
    const name = actor === 'owner' ? 'operator' : actor
    const open = this.#sessions.get(name)
    if (open) return open
    const client = new pg.Client({
      connectionString: name === 'operator' ? this.#target.url : this.#target.urlOf(name),
    })
    client.on('error', () => {})
    client.on('notice', ({ message }) => this.#heard.push(message))
    await client.connect()
    Reflect.get(client, 'connection').on('copyData', ({ chunk }: { chunk: Buffer }) =>
      this.#heard.push(`${chunk}`),
    )
    this.#sessions.set(name, client)
    return client
  }

  async #look(actor: string, expected: string, statement: string): Promise<string> {
    this.#heard = []
    const outcome = await this.#runAs(actor, statement).then(
      (rows) => ({ rows, error: undefined }),
      (error: pg.DatabaseError) => ({ rows: [], error }),
    )
    const { rows, error } = outcome
    const said = JSON.stringify([rows, error?.message, error?.detail, this.#heard])
    if (expected === 'sees raw values') return said.includes(canary) ? '' : `no raw value: ${said}`
    if (said.includes(canary)) return `a raw value: ${said}`
    if (expected === 'is denied')
      return /^(42501|42P01|3F000|42704|42703|23514)$/.test(error?.code ?? '') ? '' : `not denied: ${said}`
    return !error && (rows.length > 0 || this.#heard.length > 0) ? '' : `not seen: ${said}`
  }

  async #mask(columns: string, exempt: readonly string[]): Promise<string> {
    await this.#disarm()
    const meanwhile = this.#meanwhile
    this.#meanwhile = ''
    const rules = [...columns.matchAll(/([^\s:]+)(?::(\w+))?/g)].map(([, column = '', kind = 'Default']) =>
      rule(column, kind as MaskingFunction),
    )
    this.#policy = policy(rules, exempt)
    let isDone = meanwhile === ''
    const beforeStep = async () => {
      if (isDone) return
      isDone = true
      await this.#runAs('mallory', meanwhile)
    }
    const turn = takeTurn(this.#binding, this.#policy, { beforeStep }).then((once) =>
      // What a busy machine had no time for, a second turn makes.
      once.unfinished.length > 0 && meanwhile === '' ? takeTurn(this.#binding, this.#policy) : once,
    )
    const result = await (meanwhile === '' ? turn : turn.catch(() => undefined))
    this.#notes = [
      ...(result ? describeTurn(result) : []).map(
        ({ code, target, message }) => `${code} ${target}: ${message}`,
      ),
      ...(result?.unfinished ?? []).map(({ target, reason }) => `Unfinished ${target}: ${reason}`),
    ]
    if (!isDone) return 'nothing happened meanwhile'
    return (await this.#isSprung()) ? `mallory's code ran: ${JSON.stringify(await this.#readLoot())}` : ''
  }

  async #readTwins(): Promise<string> {
    await this.#disarm()
    const twins = await this.#runAs(
      'operator',
      `select format('%I.%I', schemaname, viewname) as twin from pg_views where schemaname like 'masked\\_%'`,
    )
    for (const { twin } of twins)
      for (const actor of ['victim', 'mallory', 'operator'])
        await this.#runAs(actor, `select * from ${twin}`).catch(() => {})
    const loot = JSON.stringify(await this.#readLoot())
    if ((await this.#isSprung()) || loot.includes(canary)) return `mallory's code ran: ${loot}`
    return ''
  }

  #readLoot() {
    return this.#runAs('operator', 'select by::text, seen from pub.loot')
  }

  async #isSprung(): Promise<boolean> {
    const found = await this.#runAs(
      'operator',
      `select from pg_locks where locktype = 'advisory' and objid = ${trap}
        and database = (select oid from pg_database where datname = current_database())
        union all select from pub.loot where by <> {mallory_text}`,
    )
    return found.length > 0
  }

  /** Of others than the operator transactions go on: they may be what a case is about. */
  async #disarm(): Promise<void> {
    await this.#runAs('operator', 'rollback')
    for (const session of this.#sessions.values())
      await session.query('select pg_advisory_unlock_all()').catch(() => {})
    await this.#runAs('operator', 'delete from pub.loot')
  }

  /** A second turn has nothing to do, and without rules the grants are those from before. */
  async #undo(): Promise<string> {
    for (const session of this.#sessions.values()) await session.query('rollback')
    const first = await takeTurn(this.#binding, this.#policy)
    const { steps } = first.steps.length > 0 ? await takeTurn(this.#binding, this.#policy) : first
    if (steps.length > 0) return `the next turn has something to do: ${JSON.stringify(steps).slice(0, 500)}`
    const { unfinished } = await takeTurn(this.#binding, policy([]))
    if (unfinished.length > 0) await takeTurn(this.#binding, policy([]))
    const left = await this.#runAs('operator', `select nspname from pg_namespace where nspname ~ '^masked_'`)
    if (left.length > 0) return `the masks ended and left ${JSON.stringify([left, unfinished])}`
    const [row] = await this.#runAs(
      'operator',
      `select has_any_column_privilege({mallory_text}, to_regclass('hr.client'), 'select') is false as lost`,
    )
    return row?.lost ? 'mallory did not get its grant back' : ''
  }

  async end(): Promise<void> {
    for (const session of this.#sessions.values()) await session.end().catch(() => {})
  }
}
