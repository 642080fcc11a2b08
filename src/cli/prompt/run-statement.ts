import type pg from 'pg'
import { describeError, type Said } from './describe-error.ts'
import { printTable } from './print-table.ts'

export interface Output {
  readonly out: NodeJS.WritableStream
  readonly errors: NodeJS.WritableStream
}

interface Field {
  readonly name: string
  readonly dataTypeID: number
}

interface Wire {
  query(text: string): void
  sendCopyFail(reason: string): void
  once(event: 'readyForQuery' | 'end', listener: () => void): void
}

const numberTypes = new Set([20, 21, 23, 26, 28, 29, 700, 701, 790, 1700, 5069])

/** `lost`: with it the connection ended. */
export type Outcome = 'good' | 'failed' | 'lost'

/** Runs what may be several statements and prints what comes of each. */
export function runStatement(
  client: pg.Client,
  text: string,
  output: Output,
  isExpanded: boolean,
): Promise<Outcome> {
  return new Promise((resolve) => {
    client.query(new PrintedQuery(text, output, isExpanded, resolve) as pg.Submittable)
  })
}

/** Takes rows as PostgreSQL writes them: what a driver makes of them is nobody's wish here. */
class PrintedQuery {
  readonly #text: string
  readonly #output: Output
  readonly #isExpanded: boolean
  readonly #done: (outcome: Outcome) => void
  #fields: readonly Field[] | undefined
  #rows: (string | null)[][] = []
  #isCopied = false

  constructor(text: string, output: Output, isExpanded: boolean, done: (outcome: Outcome) => void) {
    this.#text = text
    this.#output = output
    this.#isExpanded = isExpanded
    this.#done = done
  }

  submit(connection: pg.Connection): void {
    ;(connection as unknown as Wire).query(this.#text)
  }

  handleRowDescription({ fields }: { fields: Field[] }): void {
    this.#fields = fields
    this.#rows = []
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    this.#rows.push(fields)
  }

  handleCommandComplete({ text }: { text: string }): void {
    if (!this.#fields) {
      if (!this.#isCopied) this.#output.out.write(`${text}\n`)
      this.#isCopied = false
      return
    }
    const columns = this.#fields.map(({ name, dataTypeID }) => ({
      name,
      isNumber: numberTypes.has(dataTypeID),
    }))
    this.#output.out.write(printTable({ columns, rows: this.#rows }, this.#isExpanded))
    if (/^(INSERT|UPDATE|DELETE|MERGE)\b/.test(text)) this.#output.out.write(`${text}\n`)
    this.#fields = undefined
    this.#rows = []
  }

  handleCopyData({ chunk }: { chunk: Buffer }): void {
    this.#isCopied = true
    this.#output.out.write(chunk)
  }

  handleCopyInResponse(connection: Wire): void {
    connection.sendCopyFail('this prompt cannot send files: install psql for COPY FROM STDIN')
  }

  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}

  handleReadyForQuery(): void {
    this.#done('good')
  }

  /** After an error of the server the connection is ready again only later; after one that ends it, never. */
  handleError(error: Said, connection: Wire): void {
    this.#output.errors.write(describeError(error, this.#text))
    const isOver = error.code === undefined || /^(FATAL|PANIC)$/.test(error.severity ?? '')
    const done = () => this.#done(isOver ? 'lost' : 'failed')
    if (isOver) done()
    else {
      connection.once('readyForQuery', done)
      connection.once('end', done)
    }
  }
}
