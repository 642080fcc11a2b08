import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { openWireClient } from '../../support/wire-client.ts'

/** Spellings by which PostgreSQL delays a session by a second. */
const delaying: Record<string, string>[] = [
  { post_auth_delay: '1' },
  { Post_Auth_Delay: '1' },
  ...[
    '-c post_auth_delay=1',
    '-cpost_auth_delay=1s',
    '-c post-auth-delay=1000ms',
    '--post_auth_delay=1',
    '--POST-auth-delay=1',
    '-c po\\st_auth\\_delay=1',
    '-W 1',
    '-W1',
    '\\-W1',
    '-eW1',
    '-ee-post-auth-delay=1',
    '-c search_path=public\t-ec\npost_auth_delay=1',
  ].map((options) => ({ options })),
]

forEachCluster((cluster) => {
  describe('sessions that delay their own start', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let gateway: Gateway
    before(async () => {
      target = await createMaskedDatabase(cluster)
      await target.createRole('analyst')
      await reconcile(target.database, policy([]))
      gateway = await openBareGateway(target.database, target.url)
    })
    after(async () => {
      await gateway.close(0)
      await target[Symbol.asyncDispose]()
    })

    const show = async (parameters: Record<string, string>, isThrough = true) => {
      const url = new URL(target.urlOf('analyst'))
      if (isThrough) url.host = `127.0.0.1:${gateway.port}`
      const client = await openWireClient(url.href, parameters)
      const { rows } = await client.simple('show post_auth_delay')
      await client.close()
      return String(rows[0]?.[0])
    }

    clause('GATE-321', 'The gateway refuses a session that delays its own start with 0A000…', async () => {
      for (const given of delaying)
        await assert.rejects(show(given), /delays its own start/, JSON.stringify(given))
      const direct = await Promise.all(delaying.map((given) => show(given, false)))
      assert.deepEqual(
        direct,
        delaying.map(() => '1s'),
      )
      for (const options of ['-c search_path=W', '-c application_name=-W', '-cwork_mem=1MB -e'])
        assert.deepEqual(await show({ options }), '0', options)
    })
  })
})
