import type { Tx } from '../../db/database.ts'

/** Temporary tables that hold the lines of a file until they are checked; the transaction drops them. */
export const stages = {
  object: {
    table: 'import_object',
    columns: 'line integer, id uuid, kind text, created_at timestamptz, properties jsonb, custom text[]',
  },
  member: { table: 'import_member', columns: 'line integer, container_id uuid, member_id uuid' },
  roleMember: { table: 'import_role_member', columns: 'line integer, container_id uuid, member_id uuid' },
  owner: { table: 'import_owner', columns: 'line integer, container_id uuid, member_id uuid' },
  extension: {
    table: 'import_extension',
    columns: 'line integer, object_id uuid, name text, application_id text, properties jsonb',
  },
} as const

export type StageName = keyof typeof stages

const names = Object.keys(stages) as StageName[]
const flushLength = 1024 * 1024

export interface Stage {
  /** Fields of a row in the order of the columns; what is sent goes to the server in large pieces. */
  add(name: StageName, fields: readonly (string | number | null)[]): Promise<void> | undefined
  finish(): Promise<void>
  readonly counts: Readonly<Record<StageName, number>>
}

export async function createStage(tx: Tx): Promise<Stage> {
  for (const { table, columns } of Object.values(stages))
    await tx.unsafe(`create temporary table ${table} (${columns}) on commit drop`)
  const counts = { object: 0, member: 0, roleMember: 0, owner: 0, extension: 0 }
  const waiting: Record<StageName, string> = {
    object: '',
    member: '',
    roleMember: '',
    owner: '',
    extension: '',
  }
  const flush = async (name: StageName) => {
    const text = waiting[name]
    waiting[name] = ''
    if (text !== '') await tx.copy(`copy ${stages[name].table} from stdin`, [text])
  }
  return {
    counts,
    add(name, fields) {
      counts[name]++
      waiting[name] += writeRow(fields)
      return waiting[name].length >= flushLength ? flush(name) : undefined
    },
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
