import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkPassword, isPassword } from '../../../src/directory/accounts/password.ts'
import { Problem } from '../../../src/kernel/problem.ts'

const name = 'ada.lovelace@example.com'

describe('passwords', () => {
  const weak = [
    '',
    'Ab1!',
    'alllowercase',
    'lower and UPPER'.replaceAll(' ', ''),
    'Password1!',
    'P@ssw0rd99',
    'Qwerty12!',
    'Aa1!Aa1!Aa1!Aa1!',
    'aaaaaaaaaaaaaaaaaaaa',
    'Ada.Lovelace1!',
    'x'.repeat(257),
  ]
  for (const password of weak)
    test(`'${password.slice(0, 30)}' is refused`, () =>
      assert.throws(
        () => checkPassword(password, name),
        (error: unknown) => {
          assert.ok(error instanceof Problem && error.problem === 'PasswordTooWeak')
          assert.equal(password !== '' && error.message.includes(password), false)
          return true
        },
      ))

  for (const password of ['xWwvJ]6NMw', 'correct horse battery staple', 'Ünïcödé-9', 'Tr0ub4dor&3'])
    test(`'${password}' will do`, () => checkPassword(password, name))

  test('nobody has the password of a person without one', async () => {
    assert.equal(await isPassword(undefined, 'a password that nobody has'), false)
  })
})
