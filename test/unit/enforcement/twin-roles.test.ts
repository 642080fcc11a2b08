import assert from 'node:assert/strict'
import type { TwinRole } from '../../../src/enforcement/catalog.ts'
import { twinOwnerName } from '../../../src/enforcement/names.ts'
import { listChosen, listServing } from '../../../src/enforcement/twins/assign-twin-owners.ts'
import { clause } from '../../support/clause.ts'

/** Counts how often the name of any role is read. */
function countReads(count: number, isGranted: boolean) {
  let reads = 0
  const twinRoles = Array.from({ length: count }, (_, at): TwinRole => {
    const name = twinOwnerName('sales', 0, 100_000 + at)
    const member = { member: isGranted ? 'binder' : 'mallory', grantor: 'mallory', mayAct: true }
    const role = {
      oid: 20_000 + at,
      isAdministered: false,
      members: [member],
      isJoined: false,
      comment: null,
    }
    const rest = { isKeeper: false, isBare: true, isOurs: false, mark: null, reads: null }
    return {
      ...role,
      ...rest,
      get name() {
        reads++
        return name
      },
    }
  })
  const facts = {
    version: 180000,
    database: 'sales',
    user: 'binder',
    superuser: false,
    createsRoles: false,
    twinRoles,
  }
  const found = [listServing(facts).length, listChosen(facts).length]
  return { reads, found }
}

clause(
  'ENF-284',
  'Roles that other roles named like owners of twins take a turn work in proportion to their number, also where they are granted…',
  () => {
    const [few, many] = [countReads(50, true), countReads(500, true)]
    assert.equal(few.found[0], 50)
    assert.ok(many.reads <= few.reads * 10, `${many.reads} reads of 500 names, ${few.reads} of 50`)
    const others = countReads(500, false)
    assert.deepEqual(others.found, [0, 0])
    // Once each, for the index by name.
    assert.ok(others.reads <= 500, `${others.reads} reads of names that are not granted`)
  },
)
