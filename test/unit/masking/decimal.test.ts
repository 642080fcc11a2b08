import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareDecimals, fitsNumeric, parseDecimal } from '../../../src/masking/decimal.ts'
import { runs } from '../../support/runs.ts'

const parsed = (text: string) => parseDecimal(text) ?? assert.fail(text)

test('decimals compare by value, whatever their length', () => {
  const digits = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n })
  fc.assert(
    fc.property(digits, digits, fc.nat(30), fc.nat(5), (a, b, scale, zeros) => {
      const write = (value: bigint) => {
        const text = (value < 0n ? -value : value).toString().padStart(scale + 1, '0')
        const [whole, fraction] = [text.slice(0, text.length - scale), text.slice(text.length - scale)]
        return `${value < 0n ? '-' : ''}${whole}${scale + zeros > 0 ? '.' : ''}${fraction}${'0'.repeat(zeros)}`
      }
      assert.equal(compareDecimals(parsed(write(a)), parsed(write(b))), a < b ? -1 : a > b ? 1 : 0)
    }),
    { numRuns: runs(100) },
  )
})

test('only plain decimals are read', () => {
  for (const wrong of ['', '.', '1.', '.5', '1e3', 'NaN', '0x1', ' 1', '1_000', '--1', '١'])
    assert.equal(parseDecimal(wrong), null, wrong)
})

test('what numeric(p, s) holds exactly', () => {
  const cases: [string, number, number, boolean][] = [
    ['999.99', 5, 2, true],
    ['1000', 5, 2, false],
    ['0.001', 5, 2, false],
    ['0.010', 5, 2, true],
    ['-999.99', 5, 2, true],
    ['99900', 3, -2, true],
    ['100000', 3, -2, false],
    ['150', 3, -2, false],
    ['0.00099', 2, 5, true],
    ['0.001', 2, 5, false],
    ['0', 1, 0, true],
  ]
  for (const [text, precision, scale, fits] of cases)
    assert.equal(
      fitsNumeric(parsed(text), precision, scale),
      fits,
      `${text} in numeric(${precision}, ${scale})`,
    )
})
