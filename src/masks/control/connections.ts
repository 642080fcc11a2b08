import type { Database } from '../../db/database.ts'
import type { Sql } from '../../db/sql.ts'
import { sqlstateOf } from '../../db/sqlstate.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'
import { type KeptSession, keepSession } from '../../sessions/kept-session.ts'
import type { Servers } from '../../sessions/standbys.ts'
import type { Target } from '../policy.ts'
import { type Claimant, describeMasked } from '../read/claim.ts'
import { describeFinding, Unfit } from '../unfit.ts'
import type { FindingsPort } from './findings-port.ts'

/** A bound database, as the management side knows it. */
export interface BoundTarget extends Servers {
  /** It has logged in before. */
  readonly isReached: boolean
  connect(): Database
  /** The tables that rules name. */
  readTables(): Promise<readonly Target[]>
  /** Records that the binding logged in. Returns the name of another resource that was bound to the database before. */
  recordReached(): Promise<string | null>
  /** Records the cluster of its servers, once. Returns the recorded one; null: the binding is another one by now. */
  pinSystem(system: string): Promise<string | null>
}

type Examiner = Pick<FindingsPort, 'checkVersion' | 'examine'>

interface BindingSource {
  find(databaseId: string): Promise<BoundTarget | null>
  claimantOf(databaseId: string): Pick<Claimant, 'nameOwner'>
}

interface Connection {
  readonly target: BoundTarget
  readonly database: Database
  isFit: boolean
  isClosed: boolean
  kept?: KeptSession | undefined
}

const sweepMs = 30_000

/** The connections to bound databases, one pool for each binding. */
export class Connections {
  readonly #source: BindingSource
  readonly #findings: Examiner
  readonly #onChange: (databaseId: string) => void
  readonly #connections = new Map<string, Connection>()
  readonly #keys = new WeakMap<Database, string>()
  #sweptAt = performance.now()

  constructor(source: BindingSource, findings: Examiner, onChange: (databaseId: string) => void) {
    this.#source = source
    this.#findings = findings
    this.#onChange = onChange
  }

  /** Null: the database is not bound. `key`: the version of its binding, where that was read just now. */
  async open(databaseId: string, key?: string | null): Promise<Database | null> {
    const known = this.#connections.get(databaseId)
    if (known && known.target.key === key) return known.database
    const { database, closing } = await this.#renew(databaseId)
    // An operator may drop the database next, which a session of ours would refuse.
    if (!database) await closing
    return database
  }

  /** `closing`: the end of the connections of a former binding, which takes seconds where its server hangs. */
  async #renew(databaseId: string) {
    const target = await this.#source.find(databaseId)
    const known = this.#connections.get(databaseId)
    if (target && known?.target.key === target.key) return { database: known.database }
    this.#connections.delete(databaseId)
    this.#onChange(databaseId)
    const closing = known && close(known)
    if (!target) return { database: null, closing }
    const database = target.connect()
    this.#keys.set(database, target.key)
    this.#connections.set(databaseId, { target, database, isFit: false, isClosed: false })
    return { database }
  }

  /**
   * For changes. Refuses (`Unfit`) a server that shows samples of hidden columns: masks there would only look safe. A
   * binding that logs in for the first time passes all checks of a PUT, which could not make them without a login.
   */
  async openFit(databaseId: string, key?: string | null): Promise<Database | null> {
    const database = await this.open(databaseId, key)
    const connection = this.#connections.get(databaseId)
    if (!connection || connection.isFit) return database
    const { sql } = connection.database
    // At the same time: two connections are open from now on, also when a masked role takes all that are left.
    const [[row]] = await Promise.all([
      sql<{ version: number }[]>`select current_setting('server_version_num')::int as version`,
      sql`select`,
    ])
    const [tooOld] = this.#findings.checkVersion(row?.version ?? 0)
    if (tooOld) throw new Unfit(describeFinding(tooOld))
    await this.#pin(databaseId, connection)
    if (!connection.target.isReached) await this.#admit(databaseId, connection)
    connection.isFit = true
    void keep(connection)
    return database
  }

  /** The first node to reach a binding with several hosts says which cluster they are of. */
  async #pin(databaseId: string, connection: Connection): Promise<void> {
    const { database, target } = connection
    const system = database.system()
    if (system === undefined || (await target.pinSystem(system)) === system) return
    // The next one knows the cluster when it connects.
    this.#connections.delete(databaseId)
    void close(connection)
    throw new Unfit('The hosts of the binding belong to different clusters.')
  }

  async #admit(databaseId: string, { target, database }: Connection): Promise<void> {
    const { owner, refusals } = await this.#findings.examine(database.sql, await target.readTables())
    if (owner && owner.id !== databaseId) {
      const name = await this.#source.claimantOf(databaseId).nameOwner(owner.id)
      throw new Unfit(name === null ? describeFinding(owner.unknown) : describeMasked(name))
    }
    if (refusals.length > 0) throw new Unfit(refusals.map(describeFinding).join(' '))
    const bound = await target.recordReached()
    if (bound !== null) throw new Unfit(`This database is bound as ${bound}; one database can be bound once.`)
  }

  /** The version of the binding that these connections are of: the database may have another binding by now. */
  keyOf(database: Database): string {
    const key = this.#keys.get(database)
    if (key === undefined) throw new Error('connections of no binding')
    return key
  }

  /** A connection that can be used; it may be to a former binding, until the store is asked. */
  recall(databaseId: string): Database | undefined {
    const connection = this.#connections.get(databaseId)
    return connection?.isFit ? connection.database : undefined
  }

  /** The binding of an open database. */
  targetOf(databaseId: string): BoundTarget | undefined {
    return this.#connections.get(databaseId)?.target
  }

  /** A session that needs no lock to find and end others. */
  keptOf(databaseId: string): Sql | undefined {
    return this.#connections.get(databaseId)?.kept?.sql
  }

  list(): string[] {
    return [...this.#connections.keys()]
  }

  /** An operator's VACUUM FULL or REINDEX of a catalog of the server waits for the kept session, and each login behind these. */
  giveWay(databaseId: string): void {
    const connection = this.#connections.get(databaseId)
    connection?.kept?.end()
    if (connection) connection.kept = undefined
  }

  /**
   * From time to time, closes what was bound and is not any more, as another node was told. Does not wait for
   * servers: audits follow.
   */
  async sweep(): Promise<void> {
    if (performance.now() - this.#sweptAt < sweepMs) return
    this.#sweptAt = performance.now()
    for (const databaseId of [...this.#connections.keys()]) await this.#renew(databaseId)
    for (const connection of this.#connections.values()) if (connection.isFit) void keep(connection)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections.values()].map(close))
  }
}

function close(connection: Connection): Promise<void> {
  connection.isClosed = true
  connection.kept?.end()
  return connection.database.close()
}

/** The next kept session takes the place of the one before: nothing waits long for its locks. */
async function keep(connection: Connection): Promise<void> {
  const { kept: before, database } = connection
  try {
    connection.kept = await keepSession(database)
    before?.end()
  } catch (error) {
    // Another session waits for one of these locks. Otherwise no lock is left, perhaps, and it has to stay.
    if (sqlstateOf(error) === sqlstate.lockNotAvailable) before?.end()
    else if (before) await before.sql`select`.catch(before.end)
  }
  if (connection.isClosed) connection.kept?.end()
}
