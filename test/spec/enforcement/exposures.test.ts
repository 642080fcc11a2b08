import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { exposureKinds } from '../../../src/findings/exposures/find-exposures.ts'
import { clause } from '../../support/clause.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { allCases, usePlays } from './play-exposures.ts'

forEachCluster((cluster) => {
  const playAll = usePlays(cluster)

  clause(
    'ENF-103',
    'Listed are: an exemption of everybody, SECURITY DEFINER functions, columns tied by foreign keys…',
    playAll('ENF-103'),
  )

  clause(
    'ENF-113',
    'A row policy over a masked column, or over the row as a whole, is listed (`RowPolicyOracle`) with the statement that closes it…',
    playAll('ENF-113'),
  )

  clause(
    'ENF-415',
    'A function whose names can lead to objects of masked roles is listed (`RoutineSearchPath`) with the statement that sets its path…',
    playAll('ENF-415'),
  )

  clause(
    'ENF-437',
    'Triggers and rules of masked tables and views are listed, and (`RewriteRule`) a rule of another relation that reads or writes a masked one…',
    playAll('ENF-437'),
  )
})

describe('the classes', () => {
  test('each has a case', () => {
    const covered = new Set(allCases.map(({ code }) => code))
    assert.deepEqual(
      exposureKinds.map(({ code }) => code).filter((code) => !covered.has(code)),
      [],
    )
  })
})
