import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { clause } from '../../../support/clause.ts'
import { forEachCluster } from '../../../support/postgres.ts'
import type { Attack, Attacker } from './attacker.ts'
import { inferences } from './inferring.ts'
import { leaks, programs } from './programs.ts'
import { objects, spellings } from './reading.ts'
import { createScene, type Scene, traces } from './scene.ts'
import { catalogs, roles } from './surroundings.ts'
import { writes } from './writing.ts'

const all = [spellings, objects, inferences, writes, programs, leaks, catalogs, roles]

/** What PostgreSQL says when something is not allowed, not there, or not sensible; never that it broke. */
const clean = /^(0A|2[1-9B]|3[348F]|42|55|P0)/

function findTrace(text: string, { tell }: Attack): string | undefined {
  const told = tell?.exec(text)?.[0]
  return told ?? traces.find((trace) => text.includes(trace))
}

forEachCluster((cluster) => {
  describe('a masked role', () => {
    let scene: Scene
    let analyst: Attacker
    let auditor: Attacker
    before(async () => {
      scene = await createScene(cluster)
      analyst = await scene.openAttacker('analyst')
      auditor = await scene.openAttacker('auditor')
    })
    after(async () => {
      await analyst.end()
      await auditor.end()
      await scene.target[Symbol.asyncDispose]()
    })

    test('is attacked in at least 120 ways with different names', () => {
      assert.ok(all.flat().length >= 120, `${all.flat().length} cases`)
      for (const list of all) assert.equal(new Set(list.map(({ name }) => name)).size, list.length)
    })

    const major = Number(/\d+$/.exec(cluster)?.[0])
    const attackBy = (attacks: readonly Attack[]) => async (t: TestContext) => {
      for (const attack of attacks.filter(({ since = 0 }) => since <= major))
        await t.test(attack.name, () => tryAttack(attack))
    }
    const tryAttack = async (attack: Attack) => {
      for (const schema of ['public', 'masked_public']) {
        const { text, failures } = await analyst.attack(attack.run, schema)
        assert.equal(findTrace(text, attack), undefined, `${schema}: ${text.slice(0, 2000)}`)
        for (const { code, message } of failures) assert.match(code ?? '', clean, `${schema}: ${message}`)
      }
      if (attack.alone !== undefined) return
      const { text } = await auditor.attack(attack.exempt ?? attack.run, 'public')
      assert.notEqual(findTrace(text, attack), undefined, `no teeth: ${text.slice(0, 2000)}`)
    }

    clause('ENF-01', 'No spelling of a read shows a masked role a raw value of a…', attackBy(spellings))
    clause('ENF-02', 'No object over a masked table shows it either: views at any…', attackBy(objects))
    clause(
      'ENF-03',
      'Predicates, sorts, joins, groups, aggregates, windows and the errors of casts and…',
      attackBy(inferences),
    )
    clause(
      'ENF-04',
      'Writes tell a masked role nothing either: RETURNING, ON CONFLICT, MERGE, conditions of…',
      attackBy(writes),
    )
    clause(
      'ENF-05',
      'SQL that another statement runs is held to the same: blocks, functions, cursors, prepared…',
      attackBy(programs),
    )
    clause(
      'ENF-06',
      'Functions, operators, casts, types and search paths that a reader makes see masked values…',
      attackBy(leaks),
    )
    clause(
      'ENF-07',
      'Catalogs and statistics show a masked role no raw value, but for constants in the text of…',
      attackBy(catalogs),
    )
    clause(
      'ENF-08',
      'A masked role can neither assume a role that sees raw values nor change the rules in…',
      attackBy(roles),
    )
  })
})
