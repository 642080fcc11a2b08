import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { twinOwnerName } from '../../../../src/enforcement/names.ts'
import { forEachCluster } from '../../../support/postgres.ts'
import { inferences } from './inferring.ts'
import { leaks, programs } from './programs.ts'
import { objects, spellings } from './reading.ts'
import { type Attack, runAttack } from './run-attack.ts'
import { createScene, type Scene, traces } from './scene.ts'
import { catalogs, roles } from './surroundings.ts'
import { writes } from './writing.ts'

const classes: Readonly<Record<string, readonly Attack[]>> = {
  spellings,
  'objects on masked tables': objects,
  inferences,
  writes,
  'programs that run SQL': programs,
  'functions of the attacker': leaks,
  'catalogs and statistics': catalogs,
  'roles and sessions': roles,
}

/** What PostgreSQL says when something is not allowed, not there, or not sensible; never that it broke. */
const clean = /^(0A|2[1-9B]|3[348F]|42|55|P0)/

function findTrace(text: string, { tell }: Attack): string | undefined {
  const told = tell?.exec(text)?.[0]
  return told ?? traces.find((trace) => text.includes(trace))
}

forEachCluster((cluster) => {
  describe('a masked role', () => {
    let scene: Scene
    before(async () => {
      scene = await createScene(cluster)
    })
    after(() => scene.target[Symbol.asyncDispose]())

    const runAs = async (who: 'analyst' | 'auditor', statements: Attack['run'], schema: string) => {
      const url = new URL(scene.target.url)
      url.username = scene[who]
      url.password = 'secret'
      const names: Record<string, string> = {
        '{analyst}': scene.analyst,
        '{auditor}': scene.auditor,
        '{owner}': scene.owner,
        '{group}': scene.group,
        '{twins}': twinOwnerName(url.pathname.slice(1)),
      }
      const filled = statements.map((statement) =>
        typeof statement === 'string'
          ? statement.replace(/\{[a-z]+\}/g, (name) => (names[name] ? `"${names[name]}"` : name))
          : statement,
      )
      return runAttack({ url: url.href, lair: `lair_${who}` }, filled, schema)
    }

    test('is attacked in at least 120 ways with different names', () => {
      const all = Object.values(classes).flat()
      assert.ok(all.length >= 120, `${all.length} cases`)
      for (const list of Object.values(classes))
        assert.equal(new Set(list.map(({ name }) => name)).size, list.length)
    })

    for (const [title, attacks] of Object.entries(classes))
      describe(title, () => {
        for (const attack of attacks)
          test(attack.name, async () => {
            for (const schema of ['public', 'masked_public']) {
              const { text, failures } = await runAs('analyst', attack.run, schema)
              assert.equal(findTrace(text, attack), undefined, `${schema}: ${text.slice(0, 2000)}`)
              for (const { code, message } of failures)
                assert.match(code ?? '', clean, `${schema}: ${message}`)
            }
            if (attack.alone !== undefined) return
            const { text } = await runAs('auditor', attack.exempt ?? attack.run, 'public')
            assert.notEqual(findTrace(text, attack), undefined, `no teeth: ${text.slice(0, 2000)}`)
          })
      })
  })
})
