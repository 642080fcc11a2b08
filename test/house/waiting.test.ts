import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'

/** Files that set a timer of their own, each with the reason. */
const timers: Readonly<Record<string, string>> = {
  'test/support/wait-until.ts': 'waits for a condition between two looks at it',
  'test/support/cancel.ts': 'gives up on a server that does not answer',
  'test/spec/directory/membership-nodes.test.ts': 'keeps up a load for a while under each fault',
  'test/cluster/load.ts': 'is a client that pauses between two requests',
  'test/cluster/process.ts': 'kills a program that does not end',
  'test/cluster/proxy.ts': 'is a slow network',
  'test/cluster/run-cluster.ts': 'lets a fault last',
  'test/cluster/patroni-store.ts': 'lets a fault last',
  'test/cluster/single-store.ts': 'lets a fault last',
  'test/support/people.ts': 'gives up on a session that does not end',
  'test/spec/gateway/slow-logins.test.ts': 'gives up on a login that does not end',
  'test/spec/gateway/bombs.test.ts': 'takes a second without a byte for a full stop',
  'test/unit/wire/read-socket.test.ts': 'is a reader that takes its time',
  'test/unit/scripts/setup-lock.test.ts': 'is a process that holds a lock for a while',
  'test/unit/scripts/run-tests.test.ts': 'is a test file that fails after its end',
}

describe('tests wait for what they need to see, not for a time', () => {
  const setters = globSync('test/**/*.ts').filter((file) => /\bsetTimeout\b/.test(readFileSync(file, 'utf8')))

  test('by waitUntil, retryUntil and holdsFor of test/support/wait-until.ts', () => {
    assert.deepEqual(
      setters.filter((file) => !(file in timers)),
      [],
    )
  })

  test('and no reason is left behind', () => {
    assert.deepEqual(
      Object.keys(timers).filter((file) => !setters.includes(file)),
      [],
    )
  })
})
