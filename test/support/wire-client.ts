import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { ByteReader } from '../../src/wire/byte-reader.ts'
import { int32, message, query, readFields, readParameter } from '../../src/wire/messages.ts'
import { ScramClient, scramMechanism } from '../../src/wire/scram.ts'
import { writeStartup } from '../../src/wire/startup.ts'

export interface Column {
  readonly name: string
  readonly type: number
  readonly modifier: number
  readonly format: number
}

/** The answer to one round of messages, to the byte. */
export interface Answer {
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly (Buffer | null)[])[]
  readonly tags: readonly string[]
  readonly error: { readonly code: string; readonly message: string; readonly position?: string } | undefined
  readonly frames: readonly Buffer[]
}

export interface WireClient {
  /** The parameters that the server reported at login. */
  readonly parameters: ReadonlyMap<string, string>
  /** The server's cancel key. */
  readonly key: { readonly processId: number; readonly secret: Buffer }
  simple(text: string): Promise<Answer>
  /** Parse, Bind, Describe, Execute and Sync at once, with results as text (0) or in binary (1). */
  extended(text: string, format: 0 | 1, values?: readonly (string | null)[]): Promise<Answer>
  /** Sends these messages and reads until the server is ready again. */
  send(...messages: readonly Buffer[]): Promise<Answer>
  close(): Promise<void>
}

/** A client that hides nothing of the protocol. */
export async function openWireClient(
  url: string,
  parameters: Record<string, string> = {},
  minor = 0,
): Promise<WireClient> {
  const { hostname, port, username, password, pathname } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  const reader = new ByteReader(socket)
  const user = decodeURIComponent(username)
  const database = pathname.slice(1)
  const startup = writeStartup(Object.entries({ user, database, ...parameters }))
  startup.writeUInt16BE(minor, 6)
  socket.write(startup)
  const { reported, key } = await logIn(socket, reader, decodeURIComponent(password))
  const send = async (...messages: readonly Buffer[]): Promise<Answer> => {
    socket.write(Buffer.concat(messages))
    return readAnswer(await takeUntilReady(reader))
  }
  return {
    parameters: reported,
    key,
    send,
    simple: (text) => send(query(text)),
    extended: (text, format, values = []) =>
      send(
        message('P', `\0${text}\0`, int16(0)),
        message(
          'B',
          '\0\0',
          int16(0),
          int16(values.length),
          ...values.map(parameter),
          int16(1),
          int16(format),
        ),
        message('D', 'P\0'),
        message('E', '\0', int32(0)),
        message('S'),
      ),
    async close() {
      socket.end(message('X'))
      if (!socket.closed) await once(socket, 'close')
    },
  }
}

export function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

function parameter(value: string | null): Buffer {
  if (value === null) return int32(-1)
  const bytes = Buffer.from(value)
  return Buffer.concat([int32(bytes.length), bytes])
}

async function logIn(socket: Socket, reader: ByteReader, password: string) {
  const scram = new ScramClient(password)
  const reported = new Map<string, string>()
  let key = { processId: 0, secret: Buffer.alloc(0) }
  for (;;) {
    const frame = await reader.takeFrame(1 << 20)
    const type = String.fromCharCode(frame[0] ?? 0)
    if (type === 'E') throw failure(frame)
    if (type === 'Z') return { reported, key }
    if (type === 'K') key = { processId: frame.readUInt32BE(5), secret: Buffer.from(frame.subarray(9)) }
    if (type === 'S') reported.set(...readParameter(frame))
    if (type !== 'R') continue
    const [kind, text] = [frame.readUInt32BE(5), frame.toString('utf8', 9)]
    const first = Buffer.from(scram.first())
    if (kind === 10) socket.write(message('p', `${scramMechanism}\0`, int32(first.length), first))
    else if (kind === 11) socket.write(message('p', await scram.proof(text)))
    else if (kind === 12) scram.verify(text)
    else if (kind !== 0) throw new Error(`the server asks for login ${kind}`)
  }
}

async function takeUntilReady(reader: ByteReader): Promise<Buffer[]> {
  const frames: Buffer[] = []
  for (;;) {
    const frame = Buffer.from(await reader.takeFrame(1 << 30))
    frames.push(frame)
    if (frame[0] === 0x5a) return frames
  }
}

function readAnswer(frames: readonly Buffer[]): Answer {
  const of = (type: string) => frames.filter((frame) => frame[0] === type.charCodeAt(0))
  const [error] = of('E')
  const [described] = of('T')
  return {
    columns: described ? readColumns(described) : [],
    rows: of('D').map(readRow),
    tags: of('C').map((frame) => frame.toString('utf8', 5, frame.length - 1)),
    error: error && failure(error),
    frames,
  }
}

function readColumns(frame: Buffer): Column[] {
  let at = 7
  return Array.from({ length: frame.readUInt16BE(5) }, () => {
    const end = frame.indexOf(0, at)
    const name = frame.toString('utf8', at, end)
    at = end + 19
    // The table and its column, and the length of the type, say nothing about the values.
    return {
      name,
      type: frame.readUInt32BE(end + 7),
      modifier: frame.readInt32BE(end + 13),
      format: frame.readUInt16BE(end + 17),
    }
  })
}

function readRow(frame: Buffer): (Buffer | null)[] {
  let at = 7
  return Array.from({ length: frame.readUInt16BE(5) }, () => {
    const length = frame.readInt32BE(at)
    const from = at + 4
    at = from + Math.max(length, 0)
    return length < 0 ? null : frame.subarray(from, at)
  })
}

function failure(frame: Buffer): Error & { code: string; position?: string } {
  const fields = new Map(readFields(frame))
  const position = fields.get('P')
  const text = Buffer.from(fields.get('M') ?? '', 'latin1').toString()
  return Object.assign(new Error(text), { code: fields.get('C') ?? '', ...(position && { position }) })
}
