/**
 * SQL as tagged templates: every `${value}` is a parameter, never text.
 *
 *   await sql<{ id: string }[]>`select id from thing where name = ${name}`
 *   sql`… ${sql`and kind = ${kind}`}`        a piece of SQL inside another
 *   sql`select * from ${sql('my table')}`    a quoted identifier
 *   sql`insert into t ${sql(rowOrRows)}`     columns and values from objects; `set ${sql(row)}` for an update
 *   sql`… where id in ${sql(ids)}`           a list; `= any(${ids})` makes one statement for every length
 *   sql`… ${sql.json(value)}`                a json or jsonb value
 */
export interface Sql {
  <T extends readonly object[] = Row[]>(
    strings: TemplateStringsArray,
    ...values: readonly unknown[]
  ): Query<T>
  (insert: string | readonly unknown[] | object, ...columns: string[]): Insert
  /** The text as it is. Without values it may hold several statements. */
  unsafe<T extends readonly object[] = Row[]>(text: string, values?: readonly unknown[]): Query<T>
  json(value: unknown): Json
}

// biome-ignore lint/suspicious/noExplicitAny: without a stated type, a row is what the driver makes of it
export type Row = Record<string, any>

/** Rows, with the number the statement touched. */
export type Result<T extends readonly object[]> = T & { readonly count: number; readonly command: string }

export type Statement = {
  text: string
  values: unknown[]
  isSimple: boolean
  /** Not prepared under a name: planned for its values each time. */
  isUnnamed?: boolean
}
export type Run = (
  statement: Statement,
) => Promise<{ rows: object[]; rowCount: number | null; command: string }>

export class Json {
  readonly value: unknown
  constructor(value: unknown) {
    this.value = value
  }
}

/** Runs when it is awaited, once; as a value of another template it is a piece of that instead. */
export class Query<T extends readonly object[]> implements Promise<Result<T>> {
  readonly [Symbol.toStringTag] = 'Query'
  readonly strings: readonly string[]
  readonly values: readonly unknown[]
  readonly #run: Run
  readonly #isRaw: boolean
  #result: Promise<Result<T>> | undefined
  #isUnnamed = false

  constructor(run: Run, strings: readonly string[], values: readonly unknown[], isRaw = false) {
    this.#run = run
    this.strings = strings
    this.values = values
    this.#isRaw = isRaw
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise
  then: Promise<Result<T>>['then'] = (onResult, onError) => this.#execute().then(onResult, onError)
  catch: Promise<Result<T>>['catch'] = (onError) => this.#execute().catch(onError)
  finally: Promise<Result<T>>['finally'] = (onEnd) => this.#execute().finally(onEnd)

  /**
   * Has the statement planned for its values each time: for texts whose best plan depends on the values, or of which
   * callers can make any number.
   */
  unnamed(): this {
    this.#isUnnamed = true
    return this
  }

  #execute(): Promise<Result<T>> {
    this.#result ??= this.#start()
    return this.#result
  }

  async #start(): Promise<Result<T>> {
    const raw = { text: this.strings.join(''), values: [...this.values], isSimple: this.values.length === 0 }
    const { rows, rowCount, command } = await this.#run({
      ...(this.#isRaw ? raw : render(this)),
      isUnnamed: this.#isUnnamed,
    })
    // Not enumerable: a result compares equal to the plain list of its rows.
    return Object.defineProperties(rows, {
      count: { value: rowCount ?? 0 },
      command: { value: command },
    }) as never
  }
}

/** The argument of `sql(…)`; the words before it decide how it is written. */
export class Insert {
  readonly subject: string | readonly unknown[] | object
  readonly columns: readonly string[]
  constructor(subject: string | readonly unknown[] | object, columns: readonly string[]) {
    this.subject = subject
    this.columns = columns
  }
}

export function createSql(run: Run): Sql {
  const tag = (first: TemplateStringsArray | string | readonly unknown[] | object, ...rest: unknown[]) =>
    Array.isArray(first) && 'raw' in first
      ? new Query(run, first as readonly string[], rest)
      : new Insert(first, rest as string[])
  return Object.assign(tag, {
    unsafe: (text: string, values: readonly unknown[] = []) => new Query(run, [text], values, true),
    json: (value: unknown) => new Json(value),
  }) as Sql
}

export function quoteIdentifier(name: string): string {
  if (name.includes('\0')) throw new Error('an identifier cannot hold a NUL')
  return `"${name.replaceAll('"', '""')}"`
}

/** Every place in the code where a template stands has one list of strings, so its text is put together once. */
const plainTexts = new WeakMap<readonly string[], string>()

export function render(query: Query<readonly object[]>): Statement {
  const { strings, values } = query
  const statement: Statement = { text: '', values: [], isSimple: false }
  if (values.some((value) => value instanceof Query || value instanceof Insert)) {
    append(statement, query)
    return statement
  }
  for (const value of values) bind(statement, value)
  statement.text = plainTexts.get(strings) ?? strings.reduce((text, next, at) => `${text}$${at}${next}`)
  plainTexts.set(strings, statement.text)
  return statement
}

function append(statement: Statement, { strings, values }: Query<readonly object[]>): void {
  for (const [at, text] of strings.entries()) {
    statement.text += text
    if (at >= values.length) continue
    const value = values[at]
    if (value instanceof Query) append(statement, value)
    else if (value instanceof Insert) appendInsert(statement, value)
    else statement.text += bind(statement, value)
  }
}

function bind(statement: Statement, value: unknown): string {
  if (value === undefined) throw new Error(`parameter ${statement.values.length + 1} is undefined`)
  statement.values.push(value instanceof Json ? JSON.stringify(value.value) : value)
  return `$${statement.values.length}`
}

function appendInsert(statement: Statement, { subject, columns }: Insert): void {
  const word = /(\w+)\s*$/.exec(statement.text)?.[1]?.toLowerCase() ?? ''
  if (typeof subject === 'string') statement.text += quoteIdentifier(subject)
  else if (Array.isArray(subject) && subject.every((item) => !isRecord(item)))
    statement.text += list(statement, subject, word)
  else if (word === 'set' && !Array.isArray(subject))
    statement.text += assignments(statement, subject, columns)
  else statement.text += rows(statement, Array.isArray(subject) ? subject : [subject], columns)
}

function list(statement: Statement, items: readonly unknown[], word: string): string {
  if (word !== 'in') return items.map((item) => quoteIdentifier(String(item))).join(', ')
  return `(${items.length === 0 ? 'null' : items.map((item) => bind(statement, item)).join(', ')})`
}

function assignments(statement: Statement, row: object, columns: readonly string[]): string {
  const names = columns.length > 0 ? columns : Object.keys(row)
  return names
    .map((name) => `${quoteIdentifier(name)} = ${bind(statement, Reflect.get(row, name))}`)
    .join(', ')
}

function rows(statement: Statement, items: readonly object[], columns: readonly string[]): string {
  const names = columns.length > 0 ? columns : Object.keys(items[0] ?? {})
  const tuples = items.map(
    (row) => `(${names.map((name) => bind(statement, Reflect.get(row, name))).join(', ')})`,
  )
  return `(${names.map(quoteIdentifier).join(', ')}) values ${tuples.join(', ')}`
}

function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !(value instanceof Date) && !Buffer.isBuffer(value)
}
