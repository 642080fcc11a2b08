import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { moveRelations } from '../../../src/masks/plan/move-relations.ts'
import { SqlRefusal } from '../../../src/sql/refusal.ts'
import {
  join,
  mapPosition,
  orderSplices,
  placeInOriginal,
  placeInSpliced,
  type Splice,
} from '../../../src/sql/splice.ts'
import { runs } from '../../support/runs.ts'
import { anyText } from './sql-grammar.ts'

/** A text and splices that do not touch each other. */
const spliced = fc
  .tuple(
    fc.uint8Array({ maxLength: 60 }),
    fc.array(fc.tuple(fc.nat(9), fc.nat(5), fc.uint8Array({ maxLength: 6 }))),
  )
  .map(([bytes, pieces]) => {
    const splices: Splice[] = []
    let end = -1
    for (const [gap, length, text] of pieces) {
      const from = end + 1 + gap
      if (from + length > bytes.length) break
      end = from + length
      splices.push({ from, to: end, text: Buffer.from(text) })
    }
    return { text: Buffer.from(bytes), splices }
  })

describe('splicing', () => {
  test('nothing gives the text back', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) =>
        assert.deepEqual(join(Buffer.from(bytes), []), Buffer.from(bytes)),
      ),
      { numRuns: runs(50) },
    )
    fc.assert(
      fc.property(anyText, (text) => {
        try {
          assert.equal(
            moveRelations(text, () => undefined),
            text,
          )
        } catch (error) {
          if (!(error instanceof SqlRefusal)) throw error
        }
      }),
      { numRuns: runs(50) },
    )
  })

  test('puts each text where it belongs and keeps every other byte', () => {
    fc.assert(
      fc.property(spliced, ({ text, splices }) => {
        const joined = join(text, splices)
        for (const { from, text: put } of splices) {
          const at = placeInSpliced(splices, from, true)
          assert.deepEqual(joined.subarray(at, at + put.length), put)
        }
        for (let at = 0; at < text.length; at++) {
          if (splices.some(({ from, to }) => from <= at && at < to)) continue
          assert.equal(joined[placeInSpliced(splices, at)], text[at])
        }
        assert.equal(placeInSpliced(splices, text.length), joined.length)
      }),
      { numRuns: runs(100) },
    )
  })

  test('maps positions both ways', () => {
    fc.assert(
      fc.property(spliced, ({ text, splices }) => {
        const joined = join(text, splices)
        for (let at = 0; at <= text.length; at++) {
          const isCut = splices.some(({ from, to }) => from <= at && at < to)
          if (!isCut) assert.equal(placeInOriginal(splices, placeInSpliced(splices, at)), at)
        }
        const own = { original: text, splices, count: (bytes: Buffer) => bytes.length }
        let before = 0
        for (let at = 0; at <= joined.length; at++) {
          const placed = placeInOriginal(splices, at)
          assert.ok(placed >= before && placed <= text.length)
          const isPut = splices.some((splice) => placed === splice.from && splice.text.length > 0)
          if (!isPut) assert.equal(placeInSpliced(splices, placed), at)
          before = placed
          const position = mapPosition(own, at + 1)
          assert.ok(position >= 1 && position <= text.length + 1)
        }
      }),
      { numRuns: runs(100) },
    )
  })

  test('needs no order, and takes what is there twice once', () => {
    fc.assert(
      fc.property(spliced, ({ splices }) => {
        assert.deepEqual(orderSplices([...splices.toReversed(), ...splices]), splices)
      }),
      { numRuns: runs(30) },
    )
  })
})
