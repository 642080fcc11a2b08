import type { EntityWrite, WriteContext } from '../entities/entity-write.ts'
import type { CarriedRight } from '../rights/carried-rights.ts'

const sets: Readonly<Record<string, string>> = {
  user: 'users',
  application: 'applications',
  servicePrincipal: 'servicePrincipals',
}

/**
 * DIR-394: the entry of a write that gave rights to an account or application. A new object has no id yet: `storeNewEntity` puts the
 * target right. The changes of the write are not in the entry: one of them may be a password.
 */
export function auditGivenRights(
  { audit }: WriteContext,
  { verb, kind, id = '' }: EntityWrite,
  rights: readonly CarriedRight[],
  name: Readonly<Record<string, string>> = {},
): void {
  if (rights.length === 0) return
  const after = { verb, ...name, carriedRights: rights }
  audit({ action: 'give carried rights', target: `/${sets[kind] ?? kind}/${id}`, after })
}

/** True for writes that give an account or application the rights back that it had. */
export function isRevival({ verb, before, changes }: EntityWrite): boolean {
  return (
    verb === 'restore' ||
    (verb === 'update' && changes.accountEnabled === true && before.accountEnabled === false)
  )
}
