import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DataType, readValueOf } from '../../../src/directory/extensions/data-types.ts'

/** What is sent, and what is stored of it; undefined where it is refused. */
const cases: Record<DataType, [unknown, unknown][]> = {
  Binary: [
    ['AAEC', 'AAEC'],
    ['', ''],
    ['AA', undefined],
    ['A===', undefined],
    [Buffer.alloc(256).toString('base64'), Buffer.alloc(256).toString('base64')],
    [Buffer.alloc(257).toString('base64'), undefined],
  ],
  Boolean: [
    [false, false],
    ['false', undefined],
    [0, undefined],
  ],
  DateTime: [
    ['2026-11-15T10:00:00+02:00', '2026-11-15T08:00:00Z'],
    ['2026-11-15', '2026-11-15T00:00:00Z'],
    ['2024-02-29', '2024-02-29T00:00:00Z'],
    ['2026-02-29', undefined],
    ['2026-11-15T25:00:00Z', undefined],
    ['2026-11-15T10:00:00', undefined],
    ['15/11/2026', undefined],
  ],
  Integer: [
    [-(2 ** 31), -(2 ** 31)],
    [2 ** 31, undefined],
    [0.5, undefined],
    ['1', undefined],
    [Number.NaN, undefined],
  ],
  LargeInteger: [
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    [2 ** 53, undefined],
  ],
  String: [
    ['😀'.repeat(256), '😀'.repeat(256)],
    ['x'.repeat(257), undefined],
    ['\0', undefined],
    ['\ud800', undefined],
  ],
}

for (const [type, values] of Object.entries(cases) as [DataType, [unknown, unknown][]][])
  test(`values of the type ${type}`, () => {
    for (const [sent, stored] of values)
      assert.deepEqual(readValueOf[type](sent), stored, String(sent).slice(0, 40))
  })
