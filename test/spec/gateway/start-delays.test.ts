import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { useBareGateway } from '../../support/bare-gateway.ts'
import { clause } from '../../support/clause.ts'
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
    const urlOf = useBareGateway(cluster)

    const show = async (parameters: Record<string, string>, isThrough = true) => {
      const client = await openWireClient(urlOf(isThrough), parameters)
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

    clause(
      'GATE-332',
      'A delay in `options` (GATE-321) is refused also behind white space of other locales than ASCII…',
      async () => {
        // The servers of the tests take these for letters.
        for (const space of ['\u0085', '\u00a0', '\u00e0'])
          for (const delay of ['-W1', '-eW 1', '-c\u00a0post_auth_delay=1'])
            await assert.rejects(
              show({ options: `-c application_name=x${space}${delay}` }),
              /delays its own start/,
              JSON.stringify(space + delay),
            )
        assert.equal(await show({ options: '-c application_name=caf\u00e9\u00a0W' }), '0')
      },
    )

    clause(
      'GATE-339',
      'Every byte of `options` beyond ASCII counts as white space for GATE-332, whichever character it is a part of…',
      async () => {
        // The no-break space of KOI8-R, of code page 866 and of Mac OS Roman, as characters of UTF-8 carry these bytes, and U+FFFD.
        for (const space of ['\u009a', '\u041a', '\u00ff', '\u0280', '\ufffd'])
          for (const delay of ['-W1', '-eW 1', `-c${space}post_auth_delay=1`])
            await assert.rejects(
              show({ options: `-c application_name=x${space}${delay}` }),
              /delays its own start/,
              JSON.stringify(space + delay),
            )
        for (const options of ['-c application_name=\u041a\u0430W', '-c application_name=\u00e9-w'])
          assert.equal(await show({ options }), '0', options)
      },
    )
  })
})
