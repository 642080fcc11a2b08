import { keyIdBytes, type SecretBox, SecretBoxError } from '../kernel/secret-box.ts'
import type { Database } from './database.ts'
import { quoteIdentifier } from './quote.ts'

/** A column of sealed values, as the room that owns the table describes it. */
export interface SealedColumn {
  readonly table: string
  /** Columns that identify a row. */
  readonly key: readonly string[]
  readonly column: string
  /** The value is in base64 under this name of a JSON object; undefined: the column itself holds it. */
  readonly property?: string
  /** The place that the value is bound to. */
  place(key: readonly string[]): string
}

const batchRows = 200
const separator = '\x01'

export interface Resealed {
  readonly resealed: number
  /** Sealed with a key that is not known: nothing can open them. */
  readonly lost: number
}

/**
 * Seals anew what another key sealed than the one that seals now, some rows to a transaction. A row that its owner writes
 * meanwhile is left to the next batch. It can be stopped at any time and started again.
 */
export async function resealColumn(
  database: Database,
  box: SecretBox & { readonly sealsWith: string },
  column: SealedColumn,
): Promise<Resealed> {
  const lost: string[] = []
  let resealed = 0
  for (;;) {
    const rows = await listStale(database, box.sealsWith, column, lost)
    if (rows.length === 0) return { resealed, lost: lost.length }
    await database.transaction(async (tx) => {
      for (const { key, value } of rows) {
        const plain = openOrNull(box, column.place(key), value)
        if (plain === null) lost.push(key.join(separator))
        else resealed += await replace(tx, column, key, value, box.seal(column.place(key), plain))
      }
    })
  }
}

interface Row {
  readonly key: string[]
  readonly value: Buffer
}

const sealedValue = ({ column, property }: SealedColumn) =>
  property === undefined
    ? quoteIdentifier(column)
    : `decode(${quoteIdentifier(column)} ->> '${property}', 'base64')`

async function listStale(
  { sql }: Database,
  sealsWith: string,
  column: SealedColumn,
  lost: readonly string[],
): Promise<Row[]> {
  const key = column.key.map((name) => `${quoteIdentifier(name)}::text`)
  return await sql.unsafe<Row[]>(
    `select array[${key.join(', ')}] as key, ${sealedValue(column)} as value from ${quoteIdentifier(column.table)}
     where ${quoteIdentifier(column.column)} is not null
       and substring(${sealedValue(column)} from 1 for ${keyIdBytes}) <> decode($1, 'hex')
       and array_to_string(array[${key.join(', ')}], chr(1)) <> all($2) limit ${batchRows}`,
    [sealsWith, lost],
  )
}

async function replace(
  tx: Pick<Database['sql'], 'unsafe'>,
  column: SealedColumn,
  key: readonly string[],
  before: Buffer,
  after: Buffer,
): Promise<number> {
  const name = quoteIdentifier(column.column)
  const value =
    column.property === undefined
      ? '$1'
      : `jsonb_set(${name}, array['${column.property}'], to_jsonb(translate(encode($1, 'base64'), E'\\n', '')))`
  const { count } = await tx.unsafe(
    `update ${quoteIdentifier(column.table)} set ${name} = ${value} where ${sealedValue(column)} = $2
       and ${column.key.map((one, at) => `${quoteIdentifier(one)} = $${at + 3}`).join(' and ')}`,
    [after, before, ...key],
  )
  return count
}

function openOrNull(box: SecretBox, place: string, value: Buffer): string | null {
  try {
    return box.open(place, value)
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error
    return null
  }
}
