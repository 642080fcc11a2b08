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
  '/v1.0/users(48d31887-5fad-4d73-a9f5-3c356e68a038)/extensions(%27x%27)':
    '/v1.0/users/48d31887-5fad-4d73-a9f5-3c356e68a038/extensions/x',
  '/v1.0/me/mailFolders/a/childFolders/b/childFolders/c/childFolders/d/messages/m':
    '/v1.0/me/mailFolders/a/childFolders/b%2Fc%2Fd/messages/m',
  "/v1.0/me/mailFolders('a')/childFolders('b')/childFolders('c')/messages":
    '/v1.0/me/mailFolders/a/childFolders/b%2Fc/messages',
  '/v1.0/me/contactFolders/a/childFolders/b/childFolders':
    '/v1.0/me/contactFolders/a/childFolders/b/childFolders',
  "/v1.0/applications(appId='48d3')/owners": '/v1.0/applications/appId=48d3/owners',
  "/v1.0/users(id='48d3')": '/v1.0/users/48d3',
  "/v1.0/users(userPrincipalName='o''neil@b.c')/events(id='e')": "/v1.0/users/o'neil@b.c/events/e",
  "/v1.0/groups(ID%3D%2748d3%27)/extensions(id='x')": '/v1.0/groups/48d3/extensions/x',
  '/v1.0/users(id=48d31887-5fad-4d73-a9f5-3c356e68a038)/memberOf':
    '/v1.0/users/48d31887-5fad-4d73-a9f5-3c356e68a038/memberOf',
  '/v1.0/groups/1/members/%24ref': '/v1.0/groups/1/members/$ref',
  '/v1.0/groups/1/members/2/%24ref?x': '/v1.0/groups/1/members/2/$ref?x',
  '/v1.0/users/%24count': '/v1.0/users/$count',
  '/v1.0/%24batch': '/v1.0/$batch',
  '/v1.0/devices(deviceId%3D%2748d3%27)': '/v1.0/devices/deviceId=48d3',
  '/v1.0/me/microsoft.graph.getMemberGroups': '/v1.0/me/getMemberGroups',
  "/v1.0/users('a')/vendor.graph.checkMemberObjects()": '/v1.0/users/a/checkMemberObjects',
  '/v1.0/me/getMemberGroups()?x': '/v1.0/me/getMemberGroups?x',
  '/microsoft.graph/v1.0/users?$top=1': '/v1.0/users?$top=1',
  '/Microsoft.Graph/V1.0/users': '/V1.0/users',
  "/microsoft.graph/v1.0/users('a')/graph.getMemberGroups": '/v1.0/users/a/getMemberGroups',
  '/microsoft.graph/v1.0/http://localhost/microsoft.graph/v1.0/users?$skiptoken=x':
    '/v1.0/users?$skiptoken=x',
  '/v1.0/users/graph.delta()': '/v1.0/users/delta',
  // left as they are
  '/microsoft.graph/users': '/microsoft.graph/users',
  '/microsoft.graph/v1.0x/users': '/microsoft.graph/v1.0x/users',
  '/v1.0/me/extensions/microsoft.graph.getMemberGroups':
    '/v1.0/me/extensions/microsoft.graph.getMemberGroups',
  '/v1.0/groups/1/members/microsoft.graph.user': '/v1.0/groups/1/members/microsoft.graph.user',
  '/v1.0/users(48d31887-5fad-4d73-a9f5)': '/v1.0/users(48d31887-5fad-4d73-a9f5)',
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
