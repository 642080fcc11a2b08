import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { FrameStream } from '../../../src/wire/frame-stream.ts'
import { message } from '../../../src/wire/messages.ts'
import { Refusal } from '../../../src/wire/refusal.ts'
import { runs } from '../../support/runs.ts'

const open = (seen: string[] = [], replace: Record<string, Buffer> = {}, leavesOut = false) =>
  new FrameStream({
    watched: 'QPZ',
    watchLimit: 1000,
    maxLength: 100_000,
    allowed: 'QPZDd',
    look(code, bytes, from, to) {
      const type = String.fromCharCode(code)
      assert.equal(bytes[from], code)
      assert.equal(bytes.readUInt32BE(from + 1), to - from - 1)
      seen.push(`${type}${to - from}`)
      return replace[type]
    },
    miss(code) {
      seen.push(`${String.fromCharCode(code)} unseen`)
      return leavesOut
    },
  })
const pushAll = (stream: FrameStream, chunks: readonly Buffer[]) =>
  Buffer.concat(chunks.map((chunk) => stream.push(chunk) ?? Buffer.alloc(0)))

describe('a stream of frames', () => {
  const frames = [
    message('Q', 'select 1\0'),
    message('D', 'row'),
    message('d', Buffer.alloc(300, 7)),
    message('P', '\0text\0', Buffer.alloc(2)),
    message('Z', 'I'),
    message('D'),
    message('Q', 'x'.repeat(2000)),
    message('Z', 'T'),
  ]
  const all = Buffer.concat(frames)

  test('cut anywhere, the same frames are seen and the same bytes pass', () => {
    for (let cut = 0; cut <= all.length; cut++) {
      const seen: string[] = []
      const stream = open(seen)
      assert.deepEqual(pushAll(stream, [all.subarray(0, cut), all.subarray(cut)]), all)
      assert.deepEqual(seen, ['Q14', 'P13', 'Z6', 'Q unseen', 'Z6'])
      assert.ok(stream.isBetweenFrames)
    }
  })

  test('cut anywhere, a frame that is left out is gone, and the others pass', () => {
    const rest = Buffer.concat(frames.filter((frame) => frame.length < 2000))
    for (let cut = 0; cut <= all.length; cut++) {
      const stream = open([], {}, true)
      assert.deepEqual(pushAll(stream, [all.subarray(0, cut), all.subarray(cut)]), rest)
      assert.ok(stream.isBetweenFrames)
    }
    const stream = open([], {}, true)
    assert.deepEqual(
      pushAll(
        stream,
        [...all].map((byte) => Buffer.from([byte])),
      ),
      rest,
    )
    const middle = open([], {}, true)
    middle.push(all.subarray(0, all.length - 100))
    assert.ok(middle.isBetweenFrames, 'nothing of it has been passed on')
  })

  test('byte by byte, and with replaced frames', () => {
    const other = message('Q', 'select two\0')
    const stream = open([], { Q: other })
    const out = pushAll(
      stream,
      [...all].map((byte) => Buffer.from([byte])),
    )
    assert.deepEqual(out, Buffer.concat([other, ...frames.slice(1)]))
    assert.deepEqual(open([], { Q: other }).push(all), out)
  })

  test('a chunk of which nothing changes is sent on itself', () => {
    assert.equal(open().push(all), all)
    const stream = open()
    stream.push(all.subarray(0, 16))
    const rest = all.subarray(16)
    assert.equal(stream.push(rest), rest)
  })

  test('any cuts of any frames', () => {
    const frame = fc
      .tuple(fc.constantFrom(...'QPZDd'), fc.uint8Array({ maxLength: 50 }))
      .map(([type, body]) => message(type, Buffer.from(body)))
    fc.assert(
      fc.property(fc.array(frame), fc.array(fc.nat({ max: 60 })), (list, cuts) => {
        const seen: string[] = []
        const stream = open(seen)
        const whole = Buffer.concat(list)
        const chunks: Buffer[] = []
        let at = 0
        for (const cut of [...cuts, whole.length]) {
          chunks.push(whole.subarray(at, at + cut))
          at += cut
        }
        assert.deepEqual(pushAll(stream, chunks), whole)
        assert.ok(stream.isBetweenFrames)
        assert.equal(
          seen.length,
          list.filter((each) => 'QPZ'.includes(String.fromCharCode(each[0] ?? 0))).length,
        )
      }),
      { numRuns: runs(100) },
    )
  })

  test('a frame that passes is not held, whatever its length', () => {
    const head = message('d', Buffer.alloc(90_000)).subarray(0, 10)
    const stream = open()
    assert.equal(stream.push(head), head)
    assert.equal(stream.isBetweenFrames, false)
    const cut = open()
    assert.equal(cut.push(head.subarray(0, 2))?.length, 2)
    assert.equal(cut.isBetweenFrames, false)
  })

  const hostile: Record<string, number[]> = {
    'a length below four': [0x51, 0, 0, 0, 3],
    'a length of nothing': [0x44, 0, 0, 0, 0],
    'a length beyond what PostgreSQL takes': [0x64, 0x40, 0, 0, 0],
    'a negative length': [0x51, 0xff, 0xff, 0xff, 0xff],
    'an unknown type': [0x21, 0, 0, 0, 4],
    'a type of NUL': [0, 0, 0, 0, 4],
  }
  test('a length beyond the limit is called so', () => {
    assert.throws(() => open().push(Buffer.from([0x64, 0, 2, 0, 0])), { reason: 'MessageTooLong' })
  })

  for (const [name, frame] of Object.entries(hostile))
    test(`${name} is refused, whole and byte by byte`, () => {
      const refused = (error: unknown) => error instanceof Refusal && error.sqlstate === '08P01'
      assert.throws(() => open().push(Buffer.from(frame)), refused)
      assert.throws(() => {
        const stream = open()
        for (const byte of frame) stream.push(Buffer.from([byte]))
      }, refused)
    })
})
