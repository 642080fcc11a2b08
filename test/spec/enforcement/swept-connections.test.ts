import assert from 'node:assert/strict'
import type { Database } from '../../../src/db/database.ts'
import { checkVersion, examine } from '../../../src/findings/preflight.ts'
import { type BoundTarget, Connections } from '../../../src/masks/control/connections.ts'
import { clause } from '../../support/clause.ts'

const neverEnds = new Promise<void>(() => {})

clause(
  'ENF-430',
  'A server that hangs when its database is not bound any more delays neither the audits of other databases nor the end of the connections to them…',
  async (t) => {
    const bound = new Set(['hangs', 'hangs too', 'answers', 'stays'])
    const closed: string[] = []
    const connectTo = (id: string) =>
      ({
        close: () => {
          closed.push(id)
          return id.startsWith('hangs') ? neverEnds : Promise.resolve()
        },
      }) as unknown as Database
    const connections = new Connections(
      {
        find: async (id) =>
          bound.has(id) ? ({ key: '1', connect: () => connectTo(id) } as BoundTarget) : null,
        claimantOf: () => ({ nameOwner: async () => null }),
      },
      { checkVersion, examine },
      () => {},
    )
    for (const id of bound) await connections.open(id)
    for (const id of ['hangs', 'hangs too', 'answers']) bound.delete(id)
    const later = performance.now() + 31_000
    t.mock.method(performance, 'now', () => later)
    // Audits that are due begin after it.
    const swept = connections.sweep().then(() => 'swept')
    const late = new Promise((resolve) => setImmediate(() => setImmediate(resolve, 'late')))
    assert.equal(await Promise.race([swept, late]), 'swept')
    assert.deepEqual(closed, ['hangs', 'hangs too', 'answers'])
    assert.ok(await connections.open('stays'))
  },
)
