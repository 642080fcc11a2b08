import type { RequestFacts } from '../api/operation.ts'
import { fail } from '../kernel/problem.ts'

export function entityTag(version: number): { etag: string } {
  return { etag: `"${version}"` }
}

type Conditions = Pick<RequestFacts, 'ifMatch' | 'ifNoneMatch'>

/** `version` is null where there is no such resource. Weak tags never match: If-Match compares strongly. */
export function checkConditions(conditions: Conditions, version: number | null): void {
  checkTag(conditions, version === null ? null : entityTag(version).etag)
}

/** The same by the tag itself. */
export function checkTag({ ifMatch, ifNoneMatch }: Conditions, tag: string | null): void {
  if (ifMatch !== undefined && (tag === null || !lists(ifMatch, tag))) fail('PreconditionFailed')
  if (ifNoneMatch !== undefined && tag !== null && lists(ifNoneMatch, tag)) fail('ExistsAlready')
}

function lists(header: string, tag: string): boolean {
  const tags = header.split(',').map((one) => one.trim())
  return tags.includes('*') || tags.includes(tag)
}
