import assert from 'node:assert/strict'
import { after, describe } from 'node:test'
import { useBoundPair } from '../../support/bound-pair.ts'
import { clause } from '../../support/clause.ts'
import { startIgnoring } from '../../support/hostile-server.ts'
import { ended } from '../../support/people.ts'
import { retryUntil } from '../../support/wait-until.ts'

const schema = `create role hanging_reader login password 'secret'`

describe('a primary that hangs', () => {
  const { pair, bind, connect, readPort } = useBoundPair({ schema, first: 'primary' })
  let primary: Awaited<ReturnType<typeof startIgnoring>> | undefined
  after(() => primary?.[Symbol.dispose]())

  clause(
    'GATE-225',
    'A primary that accepts connections and does not answer counts as one that cannot be asked: sessions…',
    async () => {
      const { password, standby } = pair()
      primary = await startIgnoring(pair().primary.port, 'masquerade enforcement')
      const host = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`
      const bound = await bind({ host, password, readOnlySessions: 'Standby' }, 'api-version=2026-11-01')
      assert.equal(bound.status, 201, bound.text)
      const session = await retryUntil(async () => {
        const client = await connect('hanging_reader', { options: '-c default_transaction_read_only=on' })
        if ((await readPort(client)) === standby.port) return client
        await client.end()
        throw new Error('the session is at the primary')
      })
      const end = ended(session, 20_000)
      const from = performance.now()
      primary.ignore({ new: true })
      assert.equal(await end, '57P01')
      const tookMs = performance.now() - from
      assert.ok(tookMs > 8_000, `it ended after ${tookMs} ms`)
    },
  )
})
