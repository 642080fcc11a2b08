import type { RequestFacts } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import type { Stored } from './property.ts'

export function entityTag({ version }: Pick<Stored, 'version'>): string {
  return `W/"${version}"`
}

/** The header with the entity's tag; undefined for entities that have none. */
export function tagHeader(entity: Stored): { etag: string } | undefined {
  return entity.version === undefined ? undefined : { etag: entityTag(entity) }
}

/** Refuses a write whose `If-Match` names another state than the present one. */
export function checkPrecondition({ ifMatch }: RequestFacts, entity: Pick<Stored, 'version'>): void {
  if (ifMatch === undefined || ifMatch.trim() === '*' || entity.version === undefined) return
  const tags = ifMatch.split(',').map((tag) => tag.trim())
  if (!tags.includes(entityTag(entity)) && !tags.includes(`"${entity.version}"`)) fail('PreconditionFailed')
}
