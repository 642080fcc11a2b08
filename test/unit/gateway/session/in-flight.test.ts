import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { InFlight } from '../../../../src/gateway/session/in-flight.ts'
import { readFields, writeFields } from '../../../../src/wire/messages.ts'

const moved = (bytes: number) => ({
  original: Buffer.alloc(bytes, 'x'),
  splices: [{ from: 0, to: 1, text: Buffer.from('longer') }],
  count: (text: Buffer) => text.length,
})
const error = writeFields('E', [
  ['C', '42703'],
  ['P', '16'],
])
const positionIn = (frame: Buffer | undefined) => frame && new Map(readFields(frame)).get('P')

describe('statements that were not answered', () => {
  test('errors point into the text that they are about', () => {
    const inFlight = new InFlight()
    inFlight.sendParse(moved(100))
    inFlight.sendSync()
    assert.equal(positionIn(inFlight.correct(error, true)), '11')
    inFlight.failed()
    inFlight.ready()
    assert.ok(inFlight.isDone)
  })

  test('of a text that is as the client wrote it nothing changes', () => {
    const inFlight = new InFlight()
    inFlight.sendParse(undefined)
    assert.equal(inFlight.correct(error, true), undefined)
  })

  test('an error outside of texts points nowhere where one may have been changed', () => {
    const inFlight = new InFlight()
    inFlight.sendSync()
    assert.equal(inFlight.correct(error, false), undefined)
    const corrected = inFlight.correct(error, true)
    assert.ok(corrected)
    assert.deepEqual(readFields(corrected), [['C', '42703']])
  })

  test('texts beyond four megabytes are not held: their errors point nowhere', () => {
    const inFlight = new InFlight()
    const prepared = {
      name: 'a',
      parse: Buffer.alloc((1 << 20) - 300),
      splices: [],
      version: 1,
      reading: undefined,
    }
    const answers: unknown[] = []
    for (let round = 0; round < 2; round++) {
      for (let count = 0; count < 4; count++) inFlight.sendParse(moved(1 << 20), prepared)
      inFlight.sendSync()
      for (let count = 0; count < 4; count++) {
        const position = positionIn(inFlight.correct(error, false))
        answers.push([position, inFlight.answered()?.prepared?.name])
      }
      inFlight.ready()
    }
    const both = ['11', 'a']
    const neither = [undefined, undefined]
    assert.deepEqual(answers, [both, both, neither, neither, both, both, neither, neither])
    assert.ok(inFlight.isDone)
  })

  test('ends of COPYs that never began are not held without end', () => {
    const inFlight = new InFlight()
    for (let count = 0; count < 1_000_000; count++) inFlight.sendCopyEnd()
    inFlight.sendSync()
    assert.ok(inFlight.isAwaited)
    inFlight.ready()
    assert.ok(inFlight.isDone)
    // And it knows again where a COPY ends that was sent in one piece.
    inFlight.sendCopyEnd()
    inFlight.sendSync()
    inFlight.copying()
    assert.ok(inFlight.isAwaited)
    inFlight.ready()
    assert.ok(inFlight.isDone)
  })
})
