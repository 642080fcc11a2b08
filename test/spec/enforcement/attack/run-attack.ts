import pg from 'pg'

/** One try to get at a raw value. `{S}` is the schema of the tables: their own, or that of their twins. */
export interface Attack {
  readonly name: string
  /** Statements of one session, one after the other whatever becomes of each. `{L}`: a schema of the attacker's own. */
  readonly run: readonly (string | pg.QueryConfig)[]
  /** What gives a raw value away where it does not show itself: a guess that came true. */
  readonly tell?: RegExp
  /** Why an exempt role has no counterpart that shows it. */
  readonly alone?: string
  /** The first version of PostgreSQL that understands it. */
  readonly since?: number
  /** The counterpart, where an exempt role would do it in another way. */
  readonly exempt?: readonly string[]
}

export interface Session {
  readonly url: string
  readonly lair: string
}

/**
 * Everything that came back on the wire in words: rows, COPY data, notices, notifications and whole errors. It happens in
 * one transaction that is rolled back, with a savepoint before each statement.
 */
export async function runAttack({ url, lair }: Session, statements: Attack['run'], schema: string) {
  const types = { getTypeParser: () => String }
  const client = new pg.Client({ connectionString: url, options: '-c search_path=public', types })
  const heard: unknown[] = []
  const failures: pg.DatabaseError[] = []
  client.on('notice', (notice) => heard.push(fieldsOf(notice)))
  client.on('notification', (notification) => heard.push(notification))
  await client.connect()
  // Values in binary are no strings, which the driver makes of them.
  const wire: Buffer[] = []
  Reflect.get(Reflect.get(client, 'connection'), 'stream').on('data', (chunk: Buffer) => wire.push(chunk))
  // The driver leaves COPY data to nobody; here it is read off the connection itself.
  Reflect.get(client, 'connection').on('copyData', ({ chunk }: { chunk: Buffer }) =>
    heard.push(chunk.toString('latin1')),
  )
  const say = async (statement: string | pg.QueryConfig) => {
    try {
      const results = [await client.query(statement)].flat()
      for (const { rows, command } of results) heard.push(command, rows)
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error
      failures.push(error)
      heard.push(fieldsOf(error))
      return false
    }
    return true
  }
  try {
    await client.query('begin')
    for (const statement of statements) {
      await client.query('savepoint attack')
      const fill = (text: string) => text.replaceAll('{S}', schema).replaceAll('{L}', lair)
      const filled =
        typeof statement === 'string' ? fill(statement) : { ...statement, text: fill(statement.text) }
      if (!(await say(filled))) await client.query('rollback to savepoint attack')
    }
    await client.query('rollback')
  } finally {
    await client.end()
  }
  return {
    text: heard
      .map((item) => JSON.stringify(item))
      .join('\n')
      .toLowerCase(),
    failures,
    bytes: Buffer.concat(wire),
  }
}

/** What a client gets to read of an error or a notice. Not the text of the statement, which is the attacker's own. */
function fieldsOf(error: object) {
  const names = [
    'message',
    'detail',
    'hint',
    'where',
    'schema',
    'table',
    'column',
    'dataType',
    'constraint',
    'code',
  ]
  return names.map((name) => Reflect.get(error, name))
}
