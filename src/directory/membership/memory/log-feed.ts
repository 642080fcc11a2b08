import type { Query } from '../../../db/query.ts'
import type { SteadyConnection, TextRow } from '../../../db/steady-connection.ts'
import type { ObjectKind } from '../../objects/kinds/resource.ts'
import { type Key, readKey, readUuid } from './key-table.ts'
import type { EdgeChange } from './membership-index.ts'
import { nameHash, type ObjectState } from './object-table.ts'

/** The newest entry of the change log. `mark` tells it from another entry of the same revision in another history. */
export interface Entry {
  readonly revision: number
  readonly mark: string
}

/** The changes that lead from one revision to another. */
export interface Changes {
  /** The last of them; undefined when there are none. */
  readonly entry: Entry | undefined
  readonly edges: readonly EdgeChange[]
  readonly states: readonly { readonly id: Key; readonly state: ObjectState | undefined }[]
}

const mark = `extract(epoch from at)::text || ' ' || entity_id || ' ' || kind`
const objectKinds = `('user', 'group', 'servicePrincipal', 'application', 'orgContact', 'device', 'directoryRole',
  'organization')`

const newestText = 'select value from revision_counter where tenant_id = $1'

const markText = `select ${mark} from change_log where tenant_id = $1 and revision = $2`

/**
 * One statement, so that counter, log and states are of one snapshot. Revisions are given in the order of commits and
 * without gaps: the snapshot has exactly the changes up to its counter.
 */
const changesText = `
  with log as materialized (
    select revision, entity, entity_id, kind, data ->> 'id' as other, ${mark} as mark from change_log
    where tenant_id = $1 and revision > $2
  )
  select counter.value, log.revision, log.kind, log.entity_id, log.other, log.mark, log.entity in ${objectKinds},
    o.kind, o.security_enabled, o.deleted_at is not null, encode(${nameHash}, 'hex')
  from revision_counter counter
  left join log on true
  left join directory_object o on o.tenant_id = $1 and o.id = case
    when log.entity in ${objectKinds} and log.kind not in ('memberAdded', 'memberRemoved') then log.entity_id::uuid end
  where counter.tenant_id = $1
  order by log.revision`

/** What the change log says, read over one connection. */
export class LogFeed {
  readonly #connection: SteadyConnection
  readonly #tenantId: string

  constructor(connection: SteadyConnection, tenantId: string) {
    this.#connection = connection
    this.#tenantId = tenantId
  }

  /** Grows when the connection is a new one, behind which the log may be another. */
  get session(): number {
    return this.#connection.session
  }

  /** The revision of the newest committed change. */
  async readNewest(): Promise<number> {
    const [row] = await this.#connection.query('revision', newestText, [this.#tenantId])
    return Number(row?.[0] ?? 0)
  }

  /** True when the log still has this very entry: the history that led to it is the one we know. */
  async has({ revision, mark }: Entry): Promise<boolean> {
    if (revision === 0) return true
    const [row] = await this.#connection.query('mark', markText, [this.#tenantId, revision])
    return row?.[0] === mark
  }

  /** The changes after `revision`; undefined when the log does not have them all. */
  async readChanges(revision: number): Promise<Changes | undefined> {
    const rows = await this.#connection.query('changes', changesText, [this.#tenantId, revision])
    return readChanges(rows, revision)
  }
}

/** The newest entry, in the snapshot of a transaction. */
export async function readEntry(tx: Query, tenantId: string): Promise<Entry> {
  const [row] = await tx.unsafe<{ revision: number; mark: string }[]>(
    `select revision, ${mark} as mark from change_log where tenant_id = $1 order by revision desc limit 1`,
    [tenantId],
  )
  return row ?? { revision: 0, mark: '' }
}

function readChanges(rows: readonly TextRow[], after: number): Changes | undefined {
  const newest = Number(rows[0]?.[0] ?? 0)
  const entries = rows.filter((row) => row[1] !== null)
  const last = entries.at(-1)
  if (newest < after || entries.length !== newest - after) return undefined
  // Written past the service: what changed is not in the log.
  if (entries.some((row) => row[2] === 'rewritten')) return undefined
  if (!last) return { entry: undefined, edges: [], states: [] }
  const edges: EdgeChange[] = []
  const states = new Map<string, { id: Key; state: ObjectState | undefined }>()
  for (const row of entries) {
    const [, , kind, entityId, other, , isObject] = row
    if (isObject !== 't' || entityId == null) continue
    const id = readUuid(entityId) as Key
    if (kind === 'memberAdded' || kind === 'memberRemoved')
      edges.push({ kind, container: id, member: readUuid(other as string) as Key })
    else {
      if (kind === 'purged') edges.push({ kind, object: id })
      states.set(entityId, { id, state: readState(id, row) })
    }
  }
  return { entry: { revision: newest, mark: last[5] as string }, edges, states: [...states.values()] }
}

function readState(id: Key, row: TextRow): ObjectState | undefined {
  const [, , , , , , , kind, isSecurityEnabled, isDeleted, name] = row
  if (kind == null) return undefined
  return {
    id,
    kind: kind as ObjectKind,
    isSecurityEnabled: isSecurityEnabled === 't',
    isDeleted: isDeleted === 't',
    name: name == null ? undefined : readKey(Buffer.from(name, 'hex')),
  }
}
