import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '../../../src/db/database.ts'
import { orderTables } from '../../../src/db/lock-tables.ts'
import { migrate } from '../../../src/db/migrate.ts'
import { Problem } from '../../../src/kernel/problem.ts'

test('logs are locked last, and tables that were not free first, the last of these before the others', () => {
  const tables = ['change_log', 'token_cutoff', 'audit_event', 'role_assignment']
  assert.deepEqual(orderTables(tables, []), ['role_assignment', 'token_cutoff', 'audit_event', 'change_log'])
  assert.deepEqual(orderTables(tables, ['change_log', 'token_cutoff', 'gone', 'change_log']), [
    'change_log',
    'token_cutoff',
    'role_assignment',
    'audit_event',
  ])
})

test('a migration that PostgreSQL ended for a circle of locks each time is told as such', async () => {
  const cause = Object.assign(new Error('deadlock detected'), { code: '40P01' })
  const database = {
    transaction: () => Promise.reject(new Problem('DatabaseUnavailable', {}, { cause })),
  } as unknown as Database
  await assert.rejects(migrate(database, [], 0), {
    name: 'OperatorError',
    message: /^the migration was not made: other transactions used its tables/,
  })
})
