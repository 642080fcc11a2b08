import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { checkVersion } from '../../../src/findings/preflight.ts'
import { clause } from '../../support/clause.ts'

describe('the versions in which masks hold', () => {
  const fit = [130022, 130023, 140019, 150014, 150018, 160010, 170006, 170010, 180000, 180004, 190000]
  const unfit = [90624, 120022, 130021, 140018, 150013, 160009, 170005, 170000]
  clause(
    'ENF-109',
    'PostgreSQL before 13.22, 14.19, 15.14, 16.10 and 17.6 is not masked: its statistics show samples of hidden columns.',
    () => {
      for (const version of fit) assert.deepEqual(checkVersion(version), [], String(version))
      for (const version of unfit) {
        const [finding] = checkVersion(version)
        const major = Math.floor(version / 10_000)
        assert.equal(finding?.code, 'ServerTooOld', String(version))
        const wanted = major >= 13 ? new RegExp(`Install ${major}\\.\\d+ or later`) : /Install 13\.22, /
        assert.match(finding?.message ?? '', wanted)
      }
    },
  )
})
