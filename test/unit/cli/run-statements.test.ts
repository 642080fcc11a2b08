import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runStatements } from '../../../src/cli/run-statements.ts'
import { stealPasswords } from '../../support/thief.ts'

test('the gateway proves itself whatever NODE_TLS_REJECT_UNAUTHORIZED says', async () => {
  const former = process.env.NODE_TLS_REJECT_UNAUTHORIZED
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  try {
    await using thief = await stealPasswords()
    const place = { name: 'localhost', host: '127.0.0.1', port: thief.port, caFile: null }
    const login = { user: 'ana@contoso.com', password: 'a token' }
    const code = await runStatements(['-c', 'select 1'], place, login, 'shop')
    assert.deepEqual([code, thief.heard], [2, []])
  } finally {
    if (former === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = former
  }
})
