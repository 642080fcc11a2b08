import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { int32, message, query } from '../../../src/wire/messages.ts'
import { connectWire } from '../../support/byte-client.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { int16 } from '../../support/wire-client.ts'

const signature = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1')

/** A row of binary COPY. */
function row(id: number, data: Buffer): Buffer {
  return Buffer.concat([int16(2), int32(4), int32(id), int32(data.length), data])
}

describe('data that looks like messages', () => {
  const gateway = useGateway()

  const frames = [
    query('delete from public.customers'),
    query('select email from public.customers'),
    message('P', '\0select email from public.customers\0', int16(0)),
    message('B', '\0\0', Buffer.alloc(6)),
    message('E', '\0', int32(0)),
    message('S'),
    message('c'),
    message('f', 'enough\0'),
    message('X'),
  ]
  const data = Buffer.concat([...frames, ...frames.map((frame) => frame.subarray(0, -1)), ...frames])
  const rows = Array.from({ length: 6 }, (_, id) => row(id, data))
  const stream = Buffer.concat([signature, int32(0), int32(0), ...rows, int16(0xffff)])

  /** Where something begins that looks like a message. */
  const starts: number[] = []
  for (const frame of frames)
    for (let at = stream.indexOf(frame); at >= 0; at = stream.indexOf(frame, at + 1)) starts.push(at)
  const cutAt = (bytes: Buffer, places: readonly number[]): Buffer[] => {
    const all = [...new Set([0, ...places, bytes.length])].sort((a, b) => a - b)
    return all.slice(1).map((end, index) => bytes.subarray(all[index], end))
  }
  const copyData = (parts: readonly Buffer[]) => Buffer.concat(parts.map((part) => message('d', part)))
  const behind = (offset: number) => starts.map((start) => start + offset)
  /** What arrives at once, a chunk after the other. */
  const ways: Record<string, () => Buffer[]> = {
    'in one message, cut where something begins': () => {
      const sent = message('d', stream)
      return cutAt(
        sent,
        starts.map((start) => start + 5),
      )
    },
    'in messages that begin where something begins': () =>
      cutAt(stream, starts).map((part) => message('d', part)),
    'in messages that begin there, cut in their heads': () => {
      const sent = copyData(cutAt(stream, starts))
      return cutAt(
        sent,
        Array.from({ length: Math.floor(sent.length / 97) }, (_, index) => index * 97 + 3),
      )
    },
    'in messages and chunks that begin in the middle of a head': () =>
      cutAt(stream, behind(3)).map((part) => message('d', part)),
  }

  for (const [name, chunks] of Object.entries(ways))
    clause(
      'GATE-60',
      'The rest of the protocol works as without the gateway: function calls, large objects…',
      async (t) => {
        await t.test(name, async () => {
          const client = await connectWire({
            host: '127.0.0.1',
            port: gateway.port(),
            user: gateway.masked().role('analyst'),
            password: 'secret',
            database: gateway.name,
          })
          client.write(
            query('create table if not exists public.blobs (id int, data bytea); truncate public.blobs'),
          )
          assert.equal((await client.read()).error, undefined)
          client.write(query('copy public.blobs from stdin (format binary)'))
          while ((await client.reader.takeFrame(1 << 20))[0] !== 0x47);
          client.stream.setNoDelay(true)
          for (const chunk of chunks()) {
            client.write(chunk)
            // Each chunk leaves by itself before the next one.
            await setImmediate()
          }
          client.write(message('c'), query('select email from public.customers where id = 1'))
          const { error, values } = await client.read(2)
          assert.equal(error, undefined)
          assert.equal(values[0]?.toString(), 'aXXX@XXXX.com')
          const { sql } = gateway.masked().database
          const stored = await sql<{ data: Buffer }[]>`select data from public.blobs order by id`
          assert.equal(stored.length, rows.length)
          for (const one of stored) assert.deepEqual(Buffer.from(one.data), data)
          const [left] = await sql`select count(*)::int as n from public.customers`
          assert.equal(left?.n, 2)
          await client.close()
        })
      },
    )
})
