import type pg from 'pg'

/** Bind, Execute and Sync of PostgreSQL's protocol for a statement that was prepared under this name. */
export function writeMessages(name: string, values: readonly string[]): Buffer {
  const fields = values.flatMap((value) => [int32(Buffer.byteLength(value)), Buffer.from(value)])
  const noFormats = int16(0)
  const bind = [Buffer.from(`\0${name}\0`), noFormats, int16(values.length), ...fields, noFormats]
  return Buffer.concat([
    writeMessage('B', bind),
    writeMessage('E', [Buffer.from('\0'), int32(0)]),
    writeMessage('S', []),
  ])
}

/** Sends the messages as one write. Resolves with the first field of the row that they return, or null. */
export function sendMessages(client: pg.Client, messages: Buffer): Promise<string | null> {
  return new Promise((resolve, reject) => {
    client.query(
      new PreparedMessages(messages, (error, field) => (error ? reject(error) : resolve(field ?? null))),
    )
  })
}

/** The driver's interface for answers: it sends by `submit` and then calls back message by message. */
class PreparedMessages implements pg.Submittable {
  readonly #messages: Buffer
  #field: string | null = null
  /** The driver wraps it with its time limit. */
  callback: (error: Error | null, field?: string | null) => void

  constructor(messages: Buffer, callback: (error: Error | null, field?: string | null) => void) {
    this.#messages = messages
    this.callback = callback
  }

  submit(connection: pg.Connection): void {
    connection.stream.write(this.#messages)
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    this.#field = fields[0] ?? null
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.callback(null, this.#field)
  }

  handleError(error: Error): void {
    this.callback(error)
  }
}

function writeMessage(type: string, parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body])
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
