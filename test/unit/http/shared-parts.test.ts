import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareSchemas } from '../../../src/http/description/shared-parts.ts'

test('a schema with a title is said once, also inside another', () => {
  const user = { type: 'object', title: 'User', properties: { id: { type: 'string' } } }
  const users = { type: 'object', title: 'Users', properties: { value: { type: 'array', items: user } } }
  const shared = {}
  const reference = { $ref: '#/components/schemas/User' }
  assert.deepEqual(shareSchemas([user, users, { schema: user }], shared), [
    reference,
    { $ref: '#/components/schemas/Users' },
    { schema: reference },
  ])
  assert.deepEqual(shared, {
    User: user,
    Users: { ...users, properties: { value: { type: 'array', items: reference } } },
  })
})

test('another schema of the same title stays where it is, and so does what has no title', () => {
  const shared = {}
  const [one, other] = [
    { type: 'object', title: 'X', properties: {} },
    { type: 'object', title: 'X' },
  ]
  assert.deepEqual(shareSchemas([one, other, { type: 'object' }, null, 5], shared), [
    { $ref: '#/components/schemas/X' },
    other,
    { type: 'object' },
    null,
    5,
  ])
})

test('a property that is called title is no title', () => {
  const schema = { type: 'object', properties: { title: { type: 'string' } } }
  assert.deepEqual(shareSchemas(schema, {}), schema)
})
