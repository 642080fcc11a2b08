import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { impliedPermissions, withImplied } from '../../src/auth/implied-permissions.ts'
import { knownPermissions } from '../../src/auth/known-permissions.ts'
import { parseCell } from '../../src/auth/permission.ts'
import { directoryRoom } from '../../src/directory/room.ts'

test('every permission that an operation asks for can be granted', () => {
  const { operations } = directoryRoom({} as Parameters<typeof directoryRoom>[0])
  const asked = operations.flatMap(({ permission }) => {
    if (!('row' in permission) || typeof permission.row === 'function') return []
    const { delegated, personal, application } = permission.row
    return [delegated, personal, application].flatMap((cell) => parseCell(cell).flat())
  })
  assert.ok(asked.length > 100)
  const spec = readFileSync(new URL('../../spec/directory.md', import.meta.url), 'utf8')
  asked.push(...(spec.match(/\b[A-Z][A-Za-z]+\.(Read|ReadWrite|AccessAsUser)(\.(All|Directory))?\b/g) ?? []))
  const implied = [...withImplied(Object.keys(impliedPermissions))]
  const unknown = new Set([...asked, ...implied].filter((name) => !Object.hasOwn(knownPermissions, name)))
  assert.deepEqual([...unknown].sort(), [])
})
