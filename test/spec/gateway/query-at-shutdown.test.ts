import assert from 'node:assert/strict'
import { before, describe } from 'node:test'
import { runQuery } from '../../../src/gateway/query/run-query.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { apiVersion } from '../../support/masking.ts'
import { makeOperatorCertificate } from '../../support/operator-certificate.ts'
import { bringPeople } from '../../support/people.ts'
import { hasAllVariants } from '../../support/postgres.ts'
import { stealPasswords } from '../../support/thief.ts'
import { retryUntil, waitUntil } from '../../support/wait-until.ts'

const certificate = await makeOperatorCertificate()
const processes = { MASQUERADE_HTTP_WORKERS: '2', MASQUERADE_GATEWAY_WORKERS: '2' }

const nodes = [
  ['one process', {}],
  ['several processes', processes],
] as const

for (const [title, more] of nodes.slice(0, hasAllVariants ? 2 : 1))
  describe(`queries at a node of ${title} that stops`, () => {
    const gateway = useGateway({ ...certificate, ...more })
    let people: Awaited<ReturnType<typeof bringPeople>>
    before(async () => {
      people = await bringPeople(gateway)
    })

    clause(
      'SVC-110',
      '`POST {db}/query` is 503 with `Retry-After` as soon as a node begins to close its listeners, and…',
      async () => {
        const { masking, db, name } = gateway
        const reader = await people.user()
        await people.map(reader.id)
        const ask = () =>
          masking.service().request('POST', `${db}/query?${apiVersion}`, {
            token: reader.token,
            body: { sql: 'select 1 as one' },
          })
        // The names of the operator's certificate do not matter.
        await retryUntil(async () => {
          const { status, body, text } = await ask()
          assert.deepEqual([status, body.rows], [200, [['1']]], text)
        })

        const busy = await gateway.connect('analyst')
        busy.query('select pg_sleep(15)').catch(() => {})
        const isBusy = async () =>
          (
            await gateway.masked().database
              .sql`select from pg_stat_activity where query = 'select pg_sleep(15)'`
          ).length > 0
        await waitUntil('the session is busy', isBusy)
        const port = gateway.port()
        const { nodeCertificate } = masking.service()
        masking.service().drain()
        assert.equal((await ask()).status, 200)
        const stopping = masking.service().stop()
        await using thief = await stealPasswords(port)
        let refused = await ask()
        // The other processes hear of it.
        await waitUntil('the node refuses', async () => {
          refused = await ask()
          return refused.status === 503
        })
        assert.equal(refused.body.error.code, 'ServiceUnavailable', refused.text)
        assert.equal(refused.headers.get('retry-after'), '5')

        const query = { database: name, user: reader.name, token: reader.token, sql: 'select 1' }
        const limits = { isReadOnly: true, rowLimit: 1, timeoutMs: 5_000, signal: AbortSignal.timeout(5_000) }
        const place = { host: '127.0.0.1', port: thief.port, isProxy: false, certificate: nodeCertificate }
        const outcome = await runQuery(place, { ...query, ...limits })
        assert.match(JSON.stringify(outcome), /SELF_SIGNED|CERT/)
        assert.deepEqual(thief.heard, [])
        await stopping
      },
    )
  })
