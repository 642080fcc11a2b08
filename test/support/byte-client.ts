import { once } from 'node:events'
import type { Socket } from 'node:net'
import pg from 'pg'
import { ByteReader } from '../../src/wire/byte-reader.ts'
import { readFields } from '../../src/wire/messages.ts'

export interface Answer {
  /** Everything as it came. */
  readonly bytes: Buffer
  /** Values of the rows, a row after the other. */
  readonly values: readonly (Buffer | null)[]
  /** Fields of the first error. */
  readonly error: ReadonlyMap<string, string> | undefined
  readonly types: string
}

/** A client that says bytes and hears bytes. The login is a driver's. */
export async function connectWire(config: pg.ClientConfig) {
  const client = new pg.Client(config)
  client.on('error', () => {})
  await client.connect()
  const stream = Reflect.get(Reflect.get(client, 'connection'), 'stream') as Socket
  stream.removeAllListeners('data')
  const reader = new ByteReader(stream)
  return {
    stream,
    reader,
    write: (...frames: readonly Buffer[]) => stream.write(Buffer.concat(frames)),
    /** Reads messages until the database was ready so many times. */
    async read(times = 1): Promise<Answer> {
      const frames: Buffer[] = []
      for (let ready = 0; ready < times; ) {
        const frame = await reader.takeFrame(1 << 30)
        frames.push(frame)
        if (frame[0] === 0x5a) ready++
      }
      const errors = frames.filter((frame) => frame[0] === 0x45)
      return {
        bytes: Buffer.concat(frames),
        values: frames.filter((frame) => frame[0] === 0x44).flatMap(readRow),
        error: errors[0] && new Map(readFields(errors[0])),
        types: frames.map((frame) => String.fromCharCode(frame[0] ?? 0)).join(''),
      }
    },
    async close(): Promise<void> {
      stream.destroy()
      if (!stream.closed) await once(stream, 'close')
    },
  }
}

function readRow(frame: Buffer): (Buffer | null)[] {
  const values: (Buffer | null)[] = []
  let at = 7
  for (let count = frame.readUInt16BE(5); count > 0; count--) {
    const length = frame.readInt32BE(at)
    values.push(length < 0 ? null : frame.subarray(at + 4, at + 4 + length))
    at += 4 + Math.max(0, length)
  }
  return values
}
