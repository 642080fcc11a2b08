import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkVersion } from '../../../src/enforcement/preflight.ts'

describe('the versions in which masks hold', () => {
  const fit = [130022, 130023, 140019, 150014, 150018, 160010, 170006, 170010, 180000, 180004, 190000]
  const unfit = [90624, 120022, 130021, 140018, 150013, 160009, 170005, 170000]
  for (const version of fit) test(`${version} is taken`, () => assert.deepEqual(checkVersion(version), []))
  for (const version of unfit)
    test(`${version} is refused, with the release to install`, () => {
      const [finding] = checkVersion(version)
      const major = Math.floor(version / 10_000)
      assert.equal(finding?.code, 'ServerTooOld')
      assert.match(
        finding?.message ?? '',
        major >= 13 ? new RegExp(`Install ${major}\\.\\d+ or later`) : /Install 13\.22, /,
      )
    })
})
