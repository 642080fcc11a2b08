import { findMaskedGrantees, revokeFrom } from './acl-entries.ts'
import type { AclEntry, Scene } from './exposure.ts'
import type { Writers } from './writers.ts'

/** The masked roles that may maintain a relation since PostgreSQL 17, other than as its owner, and the statements that revoke it. */
export function findMaintainers(
  scene: Scene,
  { name, owner, acl }: { readonly name: string; readonly owner: string; readonly acl: readonly AclEntry[] },
): Writers {
  const { book } = scene
  const granted = findMaskedGrantees(scene, acl, owner)
  const members = book
    .watchedBehind('pg_maintain')
    .filter((role) => !book.roles.get(role)?.superuser && !book.reaches(role, owner))
  const membership = members.length > 0 ? book.revokeMembership('pg_maintain') : null
  return {
    roles: [...new Set([...(granted?.roles ?? []), ...members])].sort(),
    remedies: [...(granted ? [revokeFrom(granted, name)] : []), ...(membership === null ? [] : [membership])],
  }
}
