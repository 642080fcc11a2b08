import assert from 'node:assert/strict'
import { after, describe } from 'node:test'
import { useBoundPair } from '../../support/bound-pair.ts'
import { clause } from '../../support/clause.ts'
import { startIgnoring } from '../../support/hostile-server.ts'
import { freshDatabase } from '../../support/masking.ts'
import { ended } from '../../support/people.ts'
import { waitUntil } from '../../support/wait-until.ts'

const schema = `create role databases_reader login password 'secret'`

describe('several databases on several servers', () => {
  const { masking, pair, hosts, bind, connect } = useBoundPair({ schema, first: 'primary' })
  let hostile: Awaited<ReturnType<typeof startIgnoring>> | undefined
  after(() => hostile?.[Symbol.dispose]())

  clause(
    'GATE-206',
    'Each database on several hosts is looked at by itself: one that does not answer…',
    async () => {
      const { password, primary, standby, user } = pair()
      const bound = await bind({ host: hosts(), password })
      assert.equal(bound.status, 201, bound.text)
      await pair().open(primary, 'postgres').sql`create database hostile`
      hostile = await startIgnoring(primary.port, 'masquerade enforcement')
      const neighbour = freshDatabase()
      // By another server it would hear of the promotion, which ends the wait.
      const host = `127.0.0.1:${hostile.port},127.0.0.1:1`
      const binding = { host, database: 'hostile', user, password }
      const second = await masking.send('PUT', neighbour, { properties: { binding } })
      assert.equal(second.status, 201, second.text)

      const own = await connect('databases_reader')
      await connect('databases_reader', { database: neighbour.replace(/^.*\//, '') })
      hostile.ignore()
      await waitUntil('the hostile server is asked', () => (hostile?.ignored ?? 0) > 0)
      // The answer of the hostile server is given up after 35 seconds.
      const end = ended(own, 25_000)
      await pair().open(standby, 'postgres').sql`select pg_promote()`
      assert.equal(await end, '57P01')
    },
  )
})
