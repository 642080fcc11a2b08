import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { clause } from '../support/clause.ts'
import { forUsualCluster } from '../support/postgres.ts'
import type { ClauseId } from './attack.ts'
import { catalogs, serverFiles } from './cases/catalogs.ts'
import { deniedCode, foreignCode } from './cases/foreign-code.ts'
import { errors, guessed } from './cases/inferences.ts'
import { objects } from './cases/objects.ts'
import { programs } from './cases/programs.ts'
import { deniedRights, roles } from './cases/roles.ts'
import { spellings } from './cases/spellings.ts'
import { writes } from './cases/writes.ts'
import { direct, listWays, Stage, type Way } from './runner.ts'

const all = [
  ...[spellings, objects, guessed, errors, writes, programs],
  ...[foreignCode, deniedCode, catalogs, serverFiles, roles, deniedRights],
].flat()

test('each case has an id of its own', () => {
  const ids = all.map(({ id }) => id)
  assert.deepEqual(
    ids.filter((id, at) => ids.indexOf(id) !== at),
    [],
  )
})

forUsualCluster((cluster) => {
  describe('a masked role', () => {
    const ways = listWays()
    let stage: Stage
    before(async () => {
      stage = await Stage.open(cluster)
    })
    after(() => stage[Symbol.asyncDispose]())

    test('what is not masked is found in every form, in every way', async () => {
      const seen = all.filter(({ id }) =>
        ['by name', 'COPY columns', 'LIKE', 'raised by the attacker'].includes(id),
      )
      for (const way of ways) {
        const wrong = await stage.play(seen, { ...way, plays: () => true })
        assert.deepEqual(
          new Set(wrong.map((line) => line.split(':')[0])),
          new Set(seen.map(({ id }) => id)),
          way.name,
        )
      }
      await stage.mask()
    })

    const play = (way: Way, id?: ClauseId) => async () => {
      const cases = all.filter(({ clauses }) => id === undefined || clauses.includes(id))
      assert.ok(cases.length > 0)
      assert.deepEqual(await stage.play(cases, way), [])
    }
    clause(
      'ENF-01',
      'No spelling of a read shows a masked role a raw value of a masked column, in rows, …',
      play(direct, 'ENF-01'),
    )
    clause(
      'ENF-02',
      'No object over a masked table shows it either: views at any depth and in any schema, …',
      play(direct, 'ENF-02'),
    )
    clause(
      'ENF-03',
      'Predicates, sorts, joins, groups, aggregates, windows and the errors of casts and…',
      play(direct, 'ENF-03'),
    )
    clause(
      'ENF-04',
      'Writes tell a masked role nothing either: RETURNING, ON CONFLICT, MERGE, conditions of…',
      play(direct, 'ENF-04'),
    )
    clause(
      'ENF-05',
      'SQL that another statement runs is held to the same: blocks, functions, cursors, prepared…',
      play(direct, 'ENF-05'),
    )
    clause(
      'ENF-06',
      'Functions, operators, casts, types and search paths that a reader makes see masked values…',
      play(direct, 'ENF-06'),
    )
    clause(
      'ENF-07',
      'Catalogs and statistics show a masked role no raw value, but for constants in the text of…',
      play(direct, 'ENF-07'),
    )
    clause(
      'ENF-08',
      'A masked role can neither assume a role that sees raw values nor change the rules in force.',
      play(direct, 'ENF-08'),
    )
    for (const way of ways.filter((one) => one !== direct))
      clause(
        'GATE-65',
        'No attack on the masks succeeds through the gateway that fails without it, by the simple…',
        (t) => {
          t.diagnostic(way.name)
          return play(way)()
        },
      )
  })
})
