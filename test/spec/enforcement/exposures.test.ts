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
    'Listed are: an exemption of everybody, members of exempt roles, SECURITY DEFINER functions, columns tied by foreign keys…',
    playAll('ENF-103'),
  )

  clause(
    'ENF-535',
    'A remedy that revokes a privilege from PUBLIC first grants it to the exempt roles…',
    playAll('ENF-535'),
  )

  clause(
    'ENF-418',
    'Listed as low are sequences that give a masked column its values (`SequenceValues`), with the…',
    playAll('ENF-418'),
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
    // A table that cannot be masked takes a binding without privileges: preflight.test.ts has it.
    const without = exposureKinds.map(({ code }) => code).filter((code) => !covered.has(code))
    assert.deepEqual([...new Set(without)], ['NotMasked'])
  })
})
