import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { RouteTree } from '../../../src/http/route-tree.ts'

const tree = new RouteTree<string>(new Map([['cast', /^graph\.\w+$/]]))
for (const [method, path] of [
  ['GET', '/v1.0/users'],
  ['POST', '/v1.0/users'],
  ['GET', '/v1.0/users/delta'],
  ['GET', '/v1.0/users/:id'],
  ['PATCH', '/v1.0/users/:key'],
  ['DELETE', '/v1.0/groups/:id/members/:memberId/$ref'],
  ['GET', '/v1.0/:kind/delta/last'],
  ['GET', '/v1.0/groups/:id/members/:cast'],
  ['GET', '/v1.0/groups/:id/members/:memberId'],
  ['GET', '/v1.0/groups/:id/members/:memberId/:cast'],
] as const)
  tree.add(method, path, `${method} ${path}`)

const found = (target: string, params: Record<string, string> = {}) => ({ kind: 'found', target, params })
const unknown = { kind: 'unknown' }

describe('a tree of routes', () => {
  const cases: readonly [title: string, method: string, url: string, expected: object][] = [
    ['a path without parameters', 'POST', '/v1.0/users', found('POST /v1.0/users')],
    ['a query is no part of it', 'GET', '/v1.0/users?$top=/1', found('GET /v1.0/users')],
    ['case and a slash at the end are ignored', 'GET', '/V1.0/USERS/', found('GET /v1.0/users')],
    ['a parameter keeps its case', 'GET', '/v1.0/users/Ada', found('GET /v1.0/users/:id', { id: 'Ada' })],
    ['names differ by method', 'PATCH', '/v1.0/users/a', found('PATCH /v1.0/users/:key', { key: 'a' })],
    ['a name goes before a parameter', 'GET', '/v1.0/users/delta', found('GET /v1.0/users/delta')],
    [
      'with all its methods',
      'PATCH',
      '/v1.0/users/delta',
      { kind: 'otherMethod', allowed: 'GET, HEAD, OPTIONS' },
    ],
    [
      'unless it leads nowhere',
      'GET',
      '/v1.0/users/delta/last',
      found('GET /v1.0/:kind/delta/last', { kind: 'users' }),
    ],
    [
      'a parameter with a form goes before one without',
      'GET',
      '/v1.0/groups/a/members/graph.user',
      found('GET /v1.0/groups/:id/members/:cast', { id: 'a', cast: 'graph.user' }),
    ],
    [
      'values of another form are not for it',
      'GET',
      '/v1.0/groups/a/members/b',
      found('GET /v1.0/groups/:id/members/:memberId', { id: 'a', memberId: 'b' }),
    ],
    [
      'nor does it keep its value for a longer path',
      'DELETE',
      '/v1.0/groups/a/members/graph.user/$ref',
      found('DELETE /v1.0/groups/:id/members/:memberId/$ref', { id: 'a', memberId: 'graph.user' }),
    ],
    [
      'both in one path',
      'GET',
      '/v1.0/groups/a/members/b/graph.user',
      found('GET /v1.0/groups/:id/members/:memberId/:cast', { id: 'a', memberId: 'b', cast: 'graph.user' }),
    ],
    ['no value of the form', 'GET', '/v1.0/groups/a/members/b/user', unknown],
    ['HEAD is GET', 'HEAD', '/v1.0/users/a', found('GET /v1.0/users/:id', { id: 'a' })],
    [
      'OPTIONS is for the caller to answer',
      'OPTIONS',
      '/v1.0/users',
      { kind: 'otherMethod', allowed: 'GET, POST, HEAD, OPTIONS' },
    ],
    [
      'HEAD is not allowed where GET is not',
      'HEAD',
      '/v1.0/groups/g/members/m/$ref',
      { kind: 'otherMethod', allowed: 'DELETE, OPTIONS' },
    ],
    ['an encoded value', 'GET', '/v1.0/users/a%2Fb%20%25c', found('GET /v1.0/users/:id', { id: 'a/b %c' })],
    ['an encoded name', 'GET', '/v1.0/%75sers', found('GET /v1.0/users')],
    ['an encoded dollar sign is not one of a name', 'DELETE', '/v1.0/groups/g/members/m/%24ref', unknown],
    ['an empty value', 'GET', '/v1.0/users//', found('GET /v1.0/users/:id', { id: '' })],
    ['a whole URL', 'GET', 'http://host:1/v1.0/users?a', found('GET /v1.0/users')],
    ['a path that is too short', 'GET', '/v1.0', unknown],
    ['a path that is too long', 'GET', `/v1.0/users/a${'/b'.repeat(5000)}`, unknown],
    ['the root', 'GET', '/', unknown],
    ['no path', 'OPTIONS', '*', unknown],
    ['a long value', 'GET', `/v1.0/users/${'x'.repeat(2049)}`, { kind: 'tooLong' }],
  ]
  for (const [title, method, url, expected] of cases)
    test(title, () => assert.deepEqual(tree.find(method, url), expected))

  test('the same method and path twice is a mistake', () => {
    assert.throws(() => tree.add('GET', '/v1.0/users/:other', ''), /is there twice/)
  })
})
