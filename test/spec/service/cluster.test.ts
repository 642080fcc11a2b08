import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { findMissedMutations, isGood, judge } from '../../cluster/history.ts'
import { mostSeconds, runCluster } from '../../cluster/run-cluster.ts'
import { clause } from '../../support/clause.ts'

const history = {
  writes: [{ kind: 'memberAdded', container: 'g', member: 'u', acknowledgedAt: 1 }] as const,
  answers: [{ object: 'u', startedAt: 2, revision: 1, ids: ['g'] }],
  notes: [1],
  seen: new Map([['aXXX@XXXX.com', 1]]),
  unclean: new Map<string, number>(),
}
const state = {
  log: [{ revision: 1, kind: 'memberAdded', container: 'g', member: 'u' }],
  notes: new Set([1]),
}

describe('a cluster under faults', () => {
  test('the checker takes a good history, and no wrong one', () => {
    assert.ok(isGood(judge(history, state)))
    assert.deepEqual(findMissedMutations(history, state), [])
  })

  // Two minutes, with what the package brings along; `npm run test:cluster` has the servers of a real cluster.
  if (process.env.MASQUERADE_TEST_ALL)
    clause('SVC-74', 'While nodes, servers, members of etcd, the network and disks fail, no…', async (t) => {
      const report = await runCluster({ kind: 'short', minutes: 1.5, say: (line) => t.diagnostic(line) })
      assert.ok(isGood(report.verdict), JSON.stringify(report.verdict))
      assert.deepEqual(report.missedMutations, [])
      for (const { name, seconds } of report.outcomes)
        assert.ok(seconds < mostSeconds, `${name}: ${seconds} s`)
    })
})
