import { type LogEntry, logTexts } from '../../../db/change-log.ts'
import type { SteadyConnection, TextRow } from '../../../db/steady-connection.ts'
import type { ObjectKind } from '../../objects/kinds/resource.ts'
import { type Key, readKey, readUuid } from './key-table.ts'
import type { EdgeChange } from './membership-index.ts'
import { nameHash, type ObjectState } from './object-table.ts'

/** The changes that lead from one revision to another. */
export interface Changes {
  /** The last of them; undefined when there are none. */
  readonly entry: LogEntry | undefined
  readonly edges: readonly EdgeChange[]
  readonly states: readonly { readonly id: Key; readonly state: ObjectState | undefined }[]
}

const objectKinds = `('user', 'group', 'servicePrincipal', 'application', 'orgContact', 'device', 'directoryRole',
  'organization')`

/**
 * One statement, so that counter, log and states are of one snapshot. Revisions are given in the order of commits and
 * without gaps: the snapshot has exactly the changes up to its counter. States are looked up one by one: for a revision
 * that the planner does not know it expects a third of the log, and would read the whole directory.
 */
const changesText = `
  with log as materialized (${logTexts.since}), counter as (${logTexts.newest})
  select counter.value, log.revision, log.kind, log.entity_id, log.other, log.mark, log.entity in ${objectKinds},
    o.kind, o.security_enabled, o.deleted_at is not null, encode(${nameHash}, 'hex')
  from counter
  left join log on true
  left join lateral (
    select * from directory_object o where o.tenant_id = $1 and o.id = case
      when log.entity in ${objectKinds} and log.kind not in ('memberAdded', 'memberRemoved') then log.entity_id::uuid end
    limit 1
  ) o on true
  order by log.revision`

/** Reads the change log over one connection. */
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
    return Number((await this.#connection.readField('revision', logTexts.newest, [this.#tenantId])) ?? 0)
  }

  /** True when the log still has this very entry: the history that led to it is the one we know. */
  async has({ revision, mark }: LogEntry): Promise<boolean> {
    if (revision === 0) return true
    const [row] = await this.#connection.query('mark', logTexts.markAt, [this.#tenantId, revision])
    return row?.[0] === mark
  }

  /** The changes after `revision`; undefined when the log does not have them all. */
  async readChanges(revision: number): Promise<Changes | undefined> {
    const rows = await this.#connection.query('changes', changesText, [this.#tenantId, revision])
    return readChanges(rows, revision)
  }
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
