import pg from 'pg'
import type { Statement } from './attack.ts'

/** What came back on the wire. `text` has it in words: rows, COPY data, notices, notifications and whole errors. */
export interface Heard {
  readonly text: string
  readonly bytes: Buffer
  readonly failures: readonly pg.DatabaseError[]
}

/** How the statements go out: the simple protocol, or `queryMode: 'extended'`, with results as text or `binary`. */
export type Mode = { readonly queryMode?: 'extended'; readonly binary?: true }
/** `{leak}`: a function that the planner likes to run early, and that tells what it is given. */
const leak = `create function {L}.leak(anyelement) returns boolean language plpgsql cost 0.0000001 as
  $$ begin raise notice '%', $1; return true; end $$`

export type Attacker = Awaited<ReturnType<typeof openAttacker>>

/**
 * A session that attacks one time after another. Each attack is one transaction that is rolled back, with a savepoint
 * before each statement; afterwards the session forgets what it was told, so that the next begins as in a new one.
 * `names` fills what statements have in braces.
 */
export async function openAttacker(url: string, names: Readonly<Record<string, string>>, mode: Mode = {}) {
  const types = { getTypeParser: () => String }
  const client = new pg.Client({ connectionString: url, options: '-c search_path=public', types })
  let heard: unknown[] = []
  let wire: Buffer[] = []
  client.on('notice', (notice) => heard.push(fieldsOf(notice)))
  client.on('notification', (notification) => heard.push(notification))
  await client.connect()
  const connection = Reflect.get(client, 'connection')
  // Values in binary are no strings, which the driver makes of them.
  connection.stream.on('data', (chunk: Buffer) => wire.push(chunk))
  // The driver drops COPY data; here it is read off the connection itself.
  connection.on('copyData', ({ chunk }: { chunk: Buffer }) => heard.push(chunk.toString('latin1')))

  const fill = (text: string, schema: string) =>
    text
      .replaceAll('{leak}', () => leak)
      .replaceAll('{S}', schema)
      .replaceAll(/\{([A-Za-z]+)\}/g, (whole, name: string) => names[name] ?? whole)
  const say = async (statement: pg.QueryConfig): Promise<pg.DatabaseError | undefined> => {
    try {
      const results = [await client.query(statement)].flat()
      for (const { rows, command } of results) heard.push(command, rows)
      return undefined
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error
      heard.push(fieldsOf(error))
      return error
    }
  }

  return {
    async attack(statements: readonly Statement[], schema: string): Promise<Heard> {
      heard = []
      wire = []
      const failures: pg.DatabaseError[] = []
      await client.query('begin; savepoint attack')
      for (const [at, statement] of statements.entries()) {
        const config = typeof statement === 'string' ? { text: statement } : statement
        const failure = await say({ ...config, ...mode, text: fill(config.text, schema) })
        if (failure) failures.push(failure)
        if (at === statements.length - 1) break
        await client.query(failure ? 'rollback to savepoint attack' : 'savepoint attack')
      }
      await client.query('rollback')
      const text = heard.map((item) => JSON.stringify(item)).join('\n')
      const answer = { text: text.toLowerCase(), failures, bytes: Buffer.concat(wire) }
      await client.query('discard all')
      // The driver's own list of what is prepared.
      Reflect.set(connection, 'parsedStatements', {})
      return answer
    },
    end: () => client.end(),
  }
}

/** What a client gets to read of an error or a notice. Not the text of the statement, which is the attacker's own. */
function fieldsOf(error: object) {
  const names = 'message detail hint where schema table column dataType constraint code'.split(' ')
  return names.map((name) => Reflect.get(error, name))
}
