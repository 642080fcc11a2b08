import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { loginRoleName } from '../../../src/directory/principals/login-role.ts'
import { clause } from '../../support/clause.ts'

describe('the name of a login role', () => {
  clause(
    'GATE-01',
    'The login role of a principal in a database is named after the userPrincipalName in lower…',
    () => {
      assert.equal(loginRoleName('Ana@Contoso.com', 'Shop'), 'ana@contoso.com/Shop')
      const appId = '5b1d3b9c-0f57-4e4e-9d1f-0a3f1c9a7b60'
      assert.equal(loginRoleName(appId.toUpperCase(), 'shop'), `${appId}/shop`)

      const long = `${'ä'.repeat(30)}@contoso.com`
      const names = [
        loginRoleName(long, 'shop'),
        loginRoleName(long, 'shop2'),
        loginRoleName(`ä${long}`, 'shop'),
        loginRoleName(long.replace('@', 'x@'), 'shop'),
        loginRoleName('ana@contoso.com', 'd'.repeat(63)),
        loginRoleName('bob@contoso.com', 'd'.repeat(63)),
        loginRoleName('pg_monitor@contoso.com', 'shop'),
        loginRoleName('_pg_monitor@contoso.com', 'd'.repeat(63)),
      ]
      assert.equal(new Set(names).size, names.length)
      for (const name of names) {
        assert.ok(Buffer.byteLength(name) <= 63 && name.isWellFormed(), name)
        assert.match(name, /^(?!pg_).*\/[0-9a-f]{16}$/)
      }
      assert.equal(loginRoleName('a@b.c', 'd'.repeat(57)), `a@b.c/${'d'.repeat(57)}`)
    },
  )
})
