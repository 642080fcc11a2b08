import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { describe, test } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { readSocket } from '../../../src/wire/read-socket.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** Both ends of a connection; the second was accepted, and is paused. */
async function openPair() {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const near = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [far] = (await once(server, 'connection')) as [Socket]
  const stack = new DisposableStack()
  stack.defer(() => server.close())
  for (const socket of [near, far]) stack.adopt(socket, (each) => each.destroy())
  return { near, far, [Symbol.dispose]: () => stack.dispose() }
}

describe('reading a socket', () => {
  test('goes by the stream no more: this Node lets us', async () => {
    using pair = await openPair()
    assert.equal(
      readSocket(pair.far, () => false),
      true,
    )
    pair.far.on('data', () => assert.fail('the stream has it'))
    pair.near.write('x')
    await setImmediate()
  })

  test('goes by the stream where Node has changed, and gives nothing twice', async () => {
    const stream = new PassThrough() as unknown as Socket
    stream.unshift(Buffer.from('early'))
    const heard: string[] = []
    const take = (bytes: Buffer) => heard.push(String(bytes)) < 0
    assert.equal(readSocket(stream, take), false)
    stream.resume()
    stream.write('late')
    while (heard.length < 2) await setImmediate()
    assert.deepEqual(heard, ['early', 'late'])
  })

  test('reads over what is not needed, and never over what is', async () => {
    using pair = await openPair()
    const kept: Buffer[] = []
    const others = new Set<ArrayBufferLike>()
    let count = 0
    readSocket(pair.far, (bytes) => {
      const isKept = bytes[0] === 0x6b
      if (isKept) kept.push(bytes)
      else others.add(bytes.buffer)
      count++
      return isKept
    })
    pair.far.resume()
    for (let at = 0; at < 40; at++) {
      const before = count
      pair.near.write(`${at % 4 === 0 ? 'kept' : 'over'} ${at}`)
      while (count === before) await setImmediate()
    }
    assert.deepEqual(
      kept.map(String),
      [0, 4, 8, 12, 16, 20, 24, 28, 32, 36].map((at) => `kept ${at}`),
    )
    assert.equal(others.size <= kept.length + 1, true)
  })

  test('loses nothing when the reader is slower, nor of what had come before', async () => {
    using first = await openPair()
    using second = await openPair()
    const sent = createHash('sha256').update('early')
    const received = createHash('sha256')
    let left = 'early'.length
    second.near.on('data', (bytes: Buffer) => {
      received.update(bytes)
      left -= bytes.length
      second.near.pause()
      void setTimeout(left % 7 === 0 ? 3 : 0).then(() => second.near.resume())
    })
    const [from, to] = [first.far, second.far]
    from.unshift(Buffer.from('early'))
    readSocket(from, (bytes) => {
      const isFull = !to.write(bytes)
      const isPending = to.writableLength > 0
      if (isFull && isPending) {
        from.pause()
        to.once('drain', () => from.resume())
      }
      return isPending
    })
    from.resume()
    const sizes = [1, 10, 8_191, 8_192, 8_193, 65_535, 65_536, 65_537, 3_000_000, 100]
    for (const size of [...sizes, ...sizes.toReversed()]) {
      const bytes = randomBytes(size)
      sent.update(bytes)
      left += size
      first.near.write(bytes)
    }
    await waitUntil('all bytes', () => left === 0)
    assert.equal(received.digest('hex'), sent.digest('hex'))
  })
})
