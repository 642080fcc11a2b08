import { openDatabase } from '../../db/database.ts'
import type { HostGuard } from '../../db/host-guard.ts'
import type { Query } from '../../db/query.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'
import { addressOf, type Binding, serverOf } from './binding-address.ts'
import { secretPlace } from './bound-catalog.ts'

export interface UnboundDatabases {
  /** host:port, as bindings name it. */
  readonly server: string
  readonly names: readonly string[]
}

interface Row {
  readonly id: string
  readonly binding: Binding
  readonly secret: Uint8Array | null
}

const answerTimeoutMs = 5_000

/** The databases that are on the servers of bound ones and not bound themselves. Servers that do not answer are left out. */
export async function listUnbound(
  sql: Query,
  secrets: SecretBox,
  guard: HostGuard,
): Promise<UnboundDatabases[]> {
  const rows = await sql<Row[]>`
    select id, binding, binding_secret as secret from masked_database where binding is not null order by key`
  const servers = Map.groupBy(rows, ({ binding }) => serverOf(binding))
  const found = await Promise.all(
    [...servers].map(([server, bound]) => readServer(server, bound, secrets, guard)),
  )
  // One server may go by several names: what is bound under one of them is bound.
  const bySystem = Map.groupBy(
    found.filter((one) => one !== undefined),
    ({ system }) => system,
  )
  return [...bySystem.values()].flatMap((same) => {
    const bound = new Set(same.flatMap((one) => one.bound))
    const [first] = same
    const names = first?.all.filter((name) => !bound.has(name)) ?? []
    return first && names.length > 0 ? [{ server: first.server, names }] : []
  })
}

async function readServer(server: string, rows: readonly Row[], secrets: SecretBox, guard: HostGuard) {
  for (const { id, binding, secret } of rows) {
    const password = secret ? secrets.open(secretPlace(id), secret) : ''
    const url = addressOf(binding, password, guard)
    const database = openDatabase({
      url,
      poolSize: 1,
      searchPath: 'pg_catalog',
      answerTimeoutMs,
      foreign: { keep: 0 },
    })
    try {
      const all = await database.sql<{ name: string; system: string }[]>`
        select datname::text as name, (select system_identifier::text from pg_control_system()) as system
        from pg_database where datallowconn and not datistemplate order by 1`
      const [{ system } = { system: server }] = all
      return {
        server,
        system,
        all: all.map(({ name }) => name),
        bound: rows.map((row) => row.binding.database),
      }
    } catch {
      // Another binding may lead there.
    } finally {
      await database.close()
    }
  }
  return undefined
}
