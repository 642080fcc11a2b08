import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pulse } from '../../../src/db/pulse.ts'
import { createSql } from '../../../src/db/sql.ts'
import { waitUntil } from '../../support/wait-until.ts'

test('what parts ask again and again is one statement, also after a store that was away', async () => {
  const sent: string[] = []
  const sql = createSql(async ({ text, values }) => {
    sent.push(text)
    if (sent.length === 1) throw new Error('away')
    return { rows: [{ answers: values }], rowCount: 1, command: 'SELECT' }
  })
  const pulse = new Pulse(sql, 10)
  const heard: unknown[] = []
  const stop = pulse.ask(sql`(select ${'one'}::text)`, (answer) => heard.push(answer))
  pulse.ask(sql`(select ${2}::int)`, (answer) => heard.push(answer))
  await waitUntil('both hear', () => heard.length >= 2)
  assert.deepEqual(heard.slice(0, 2), ['one', 2])
  assert.equal(sent[0], 'select jsonb_build_array((select $1::text), (select $2::int)) as answers')
  stop()
  heard.length = 0
  await waitUntil('the other one hears', () => heard.length > 1)
  assert.deepEqual(new Set(heard), new Set([2]))
  await pulse.close()
})
