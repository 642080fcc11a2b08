import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type pg from 'pg'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { listClusterNames } from '../../support/cluster.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { inferences } from '../enforcement/attack/inferring.ts'
import { leaks, programs } from '../enforcement/attack/programs.ts'
import { objects, spellings } from '../enforcement/attack/reading.ts'
import { type Attack, runAttack } from '../enforcement/attack/run-attack.ts'
import { createScene, type Scene, traces } from '../enforcement/attack/scene.ts'
import { catalogs, roles } from '../enforcement/attack/surroundings.ts'
import { writes } from '../enforcement/attack/writing.ts'

const attacks = [spellings, objects, inferences, writes, programs, leaks, catalogs, roles].flat()
/** What PostgreSQL says when something is not allowed, not there, or not sensible; never that it or the gateway broke. */
const clean = /^(0A|2[1-9B]|3[348F]|42|55|P0)/

forEachCluster((cluster) => {
  describe('a masked role behind the gateway', () => {
    let scene: Scene
    let gateway: Gateway
    before(async () => {
      scene = await createScene(cluster)
      gateway = await openBareGateway(scene.target.database, scene.target.url)
    })
    after(async () => {
      await gateway.close(0)
      await scene.target[Symbol.asyncDispose]()
    })

    const run = async (attack: Attack, isExtended: boolean) => {
      const url = new URL(scene.target.url)
      Object.assign(url, { username: scene.analyst, password: 'secret', host: `127.0.0.1:${gateway.port}` })
      const names: Record<string, string> = {
        '{analyst}': scene.analyst,
        '{auditor}': scene.auditor,
        '{owner}': scene.owner,
        '{group}': scene.group,
      }
      const fill = (text: string) =>
        text.replace(/\{[a-z]+\}/g, (name) => (names[name] ? `"${names[name]}"` : name))
      const statements = attack.run.map((statement) => {
        const text = fill(typeof statement === 'string' ? statement : statement.text)
        const rest = typeof statement === 'string' ? {} : statement
        return isExtended ? ({ ...rest, text, queryMode: 'extended' } as pg.QueryConfig) : { ...rest, text }
      })
      return runAttack({ url: url.href, lair: 'lair_analyst' }, statements, 'public')
    }

    // One protocol on each server where there are two: the gateway is the same.
    const isOnly = listClusterNames().length === 1
    for (const isExtended of isOnly ? [false, true] : [cluster === 'embedded-18'])
      test(`learns nothing in ${attacks.length} ways by the ${isExtended ? 'extended' : 'simple'} protocol`, async () => {
        let succeeded = 0
        for (const attack of attacks) {
          const { text, failures } = await run(attack, isExtended)
          const told = attack.tell?.exec(text)?.[0] ?? traces.find((trace) => text.includes(trace))
          assert.equal(told, undefined, `${attack.name}: ${text.slice(0, 2000)}`)
          for (const { code, message } of failures)
            assert.match(code ?? '', clean, `${attack.name}: ${message}`)
          if (failures.length === 0) succeeded++
        }
        assert.ok(succeeded > 20, `${succeeded} of ${attacks.length} could run at all`)
      })
  })
})
