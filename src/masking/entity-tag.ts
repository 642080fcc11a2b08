import type { RequestFacts } from '../api/operation.ts'
import { fail } from '../kernel/problem.ts'

export function entityTag(version: number): { etag: string } {
  return { etag: `"${version}"` }
}

type Conditions = Pick<RequestFacts, 'ifMatch' | 'ifNoneMatch'>

/** `version` is null where there is no such resource. Weak tags never match: If-Match compares strongly. */
export function checkConditions({ ifMatch, ifNoneMatch }: Conditions, version: number | null): void {
  if (ifMatch !== undefined && (version === null || !lists(ifMatch, version))) fail('PreconditionFailed')
  if (ifNoneMatch !== undefined && version !== null && lists(ifNoneMatch, version)) fail('ExistsAlready')
}

function lists(header: string, version: number): boolean {
  const tags = header.split(',').map((tag) => tag.trim())
  return tags.includes('*') || tags.includes(`"${version}"`)
}
