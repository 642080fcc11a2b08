import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { normalizeUrl } from '../../../src/http/normalize-url.ts'

const cases: Record<string, string> = {
  "/v1.0/users('a@b.c')/extensions('x')": '/v1.0/users/a@b.c/extensions/x',
  "/v1.0/users('a@b.c')?$select=id": '/v1.0/users/a@b.c?$select=id',
  '/v1.0/users(%27a%40b.c%27)/extensions(%27x%27)': '/v1.0/users/a%40b.c/extensions/x',
  '/v1.0/users%28%27a%27%29': '/v1.0/users/a',
  "/v1.0/users('o''neil@b.c')": "/v1.0/users/o'neil@b.c",
  "/v1.0/groups('1')/threads('2')/posts('3')/extensions('n')":
    '/v1.0/groups/1/threads/2/posts/3/extensions/n',
  '/v1.0/http://localhost:8080/v1.0/users?$skiptoken=x': '/v1.0/users?$skiptoken=x',
  '/v1.0/https:/localhost/v1.0/groups': '/v1.0/groups',
  // left as they are
  '/v1.0/users/a@b.c': '/v1.0/users/a@b.c',
  "/v1.0/users(a')": "/v1.0/users(a')",
  "/v1.0/users('a/b')": "/v1.0/users('a/b')",
  "/subscriptions/s('x')": "/subscriptions/s('x')",
  "/v1.0/users?$filter=startswith(displayName,'a')": "/v1.0/users?$filter=startswith(displayName,'a')",
}

describe('one spelling for every URL', () => {
  for (const [sent, seen] of Object.entries(cases))
    test(sent, () => {
      assert.equal(normalizeUrl(sent), seen)
    })
})
