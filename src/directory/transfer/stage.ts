import type { Tx } from '../../db/database.ts'

/** Temporary tables that hold the lines of a file until they are checked; the transaction drops them. */
export const stages = {
  object: {
    table: 'import_object',
    columns: `line integer, id uuid, kind text, created_at timestamptz, properties jsonb, custom text[], has_id boolean,
      cleared text[], defaults jsonb, missing text`,
  },
  /** Memberships by names; they become memberships once the objects are known. */
  namedMember: { table: 'import_named_member', columns: 'line integer, group_name text, member_name text' },
  member: { table: 'import_member', columns: 'line integer, container_id uuid, member_id uuid' },
  roleMember: { table: 'import_role_member', columns: 'line integer, container_id uuid, member_id uuid' },
  owner: { table: 'import_owner', columns: 'line integer, container_id uuid, member_id uuid' },
  extension: {
    table: 'import_extension',
    columns: 'line integer, object_id uuid, name text, application_id text, properties jsonb',
  },
} as const

type TableName = keyof typeof stages
/** A membership by names is a membership. */
export type StageName = Exclude<TableName, 'namedMember'>

const names = Object.keys(stages) as TableName[]
const flushLength = 1024 * 1024

export interface Stage {
  /** Fields of a row in the order of the columns; what is sent goes to the server in large pieces. */
  add(name: TableName, fields: readonly (string | number | null)[]): Promise<void> | undefined
  finish(): Promise<void>
  /** How many rows were added. */
  lines(): number
  readonly counts: Readonly<Record<StageName, number>>
}

export async function createStage(tx: Tx): Promise<Stage> {
  for (const { table, columns } of Object.values(stages))
    await tx.unsafe(`create temporary table ${table} (${columns}) on commit drop`)
  const counts = { object: 0, member: 0, roleMember: 0, owner: 0, extension: 0 }
  const waiting = Object.fromEntries(names.map((name) => [name, ''])) as Record<TableName, string>
  const flush = async (name: TableName) => {
    const text = waiting[name]
    waiting[name] = ''
    if (text !== '') await tx.copy(`copy ${stages[name].table} from stdin`, [text])
  }
  return {
    counts,
    add(name, fields) {
      counts[name === 'namedMember' ? 'member' : name]++
      waiting[name] += writeRow(fields)
      return waiting[name].length >= flushLength ? flush(name) : undefined
    },
    lines: () => Object.values(counts).reduce((sum, count) => sum + count, 0),
    async finish() {
      for (const name of names) await flush(name)
      for (const { table } of Object.values(stages)) await tx.unsafe(`analyze ${table}`)
    },
  }
}

/** A row in PostgreSQL's text format. */
function writeRow(fields: readonly (string | number | null)[]): string {
  let row = ''
  for (const field of fields) {
    if (row !== '') row += '\t'
    row += field === null ? '\\N' : typeof field === 'number' ? field : escapeField(field)
  }
  return `${row}\n`
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function escapeField(field: string): string {
  return /[\\\t\n\r]/.test(field)
    ? field.replaceAll(/[\\\t\n\r]/g, (character) => escapes[character] ?? '')
    : field
}
