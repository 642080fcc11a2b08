import assert from 'node:assert/strict'
import type { TestResponse, TestService } from './service.ts'

/** Calls the directory with one token and expects one status. */
export function caller(service: () => TestService, token: () => string) {
  return async function call(
    method: string,
    path: string,
    status: number,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<TestResponse> {
    const answer = await service().request(method, path.startsWith('http') ? path : `/v1.0${path}`, {
      token: token(),
      ...(body !== undefined && { body }),
      ...(headers && { headers }),
    })
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
    return answer
  }
}

/** Enough to do anything with directory objects. */
export const everything = [
  'Directory.ReadWrite.All',
  'User.ReadWrite.All',
  'Device.ReadWrite.All',
  'RoleManagement.ReadWrite.Directory',
  'Organization.ReadWrite.All',
] as const
