import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { maxUnanswered, Pipeline } from '../../../../../src/gateway/session/ledger/pipeline.ts'
import { PreparedStatement } from '../../../../../src/gateway/session/ledger/prepared-statement.ts'
import { readFields, writeFields } from '../../../../../src/wire/messages.ts'

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
    const pipeline = new Pipeline()
    pipeline.sendParse(moved(100))
    pipeline.sendSync()
    assert.equal(positionIn(pipeline.correct(error, true)), '11')
    pipeline.failed()
    pipeline.ready()
    assert.ok(pipeline.isDone)
  })

  test('are limited in number, answered and skipped ones not counted', () => {
    const pipeline = new Pipeline()
    for (let count = 0; count < 2 * maxUnanswered; count++) {
      pipeline.sendClose()
      pipeline.answered()
    }
    pipeline.sendClose()
    pipeline.failed()
    for (let count = 0; count < 2 * maxUnanswered; count++) pipeline.sendClose()
    pipeline.sendSync()
    pipeline.ready()
    for (let count = 0; count < maxUnanswered; count++) pipeline.sendClose()
    assert.throws(() => pipeline.sendClose(), { sqlstate: '54000' })
  })

  test('of a text that is as the client wrote it nothing changes', () => {
    const pipeline = new Pipeline()
    pipeline.sendParse(undefined)
    assert.equal(pipeline.correct(error, true), undefined)
  })

  test('an error outside of texts points nowhere where one may have been changed', () => {
    const pipeline = new Pipeline()
    pipeline.sendSync()
    assert.equal(pipeline.correct(error, false), undefined)
    const corrected = pipeline.correct(error, true)
    assert.ok(corrected)
    assert.deepEqual(readFields(corrected), [['C', '42703']])
  })

  test('texts beyond four megabytes are not held: their errors point nowhere', () => {
    const pipeline = new Pipeline()
    const prepare = () => {
      const text = { parse: Buffer.alloc((1 << 20) - 300), splices: [], reading: undefined }
      return new PreparedStatement({ name: 'a', effects: [], version: 1, path: '', text }, 0)
    }
    const answers: unknown[] = []
    for (let round = 0; round < 2; round++) {
      for (let count = 0; count < 4; count++) pipeline.sendParse(moved(1 << 20), prepare())
      pipeline.sendSync()
      for (let count = 0; count < 4; count++) {
        const position = positionIn(pipeline.correct(error, false))
        const { prepared } = pipeline.answered() ?? {}
        answers.push([position, prepared?.text && prepared.name])
      }
      pipeline.ready()
    }
    const both = ['11', 'a']
    const neither = [undefined, undefined]
    assert.deepEqual(answers, [both, both, neither, neither, both, both, neither, neither])
    assert.ok(pipeline.isDone)
  })

  test('ends of COPYs that never began are not held without end', () => {
    const pipeline = new Pipeline()
    for (let count = 0; count < 1_000_000; count++) pipeline.sendCopyEnd()
    pipeline.sendSync()
    assert.ok(pipeline.isAwaited)
    pipeline.ready()
    assert.ok(pipeline.isDone)
    // And it knows again where a COPY ends that was sent in one piece.
    pipeline.sendCopyEnd()
    pipeline.sendSync()
    pipeline.copying()
    assert.ok(pipeline.isAwaited)
    pipeline.ready()
    assert.ok(pipeline.isDone)
  })
})
