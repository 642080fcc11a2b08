import type { ObjectKind } from '../objects/kinds/resource.ts'

/**
 * Transitive membership, through any depth of nesting. Every question about it goes through this interface, and every
 * answer is of the newest committed state.
 *
 * Deleted groups do not count, nor groups that are reached through them alone. Circles are fine, and no object is a
 * member of itself.
 */
export interface MembershipGraph {
  /** An object, its groups, and the revision of the directory that both are of. */
  membershipsOf(tenantId: string, target: Target, choice?: GroupChoice): Promise<Memberships>
  /** As `membershipsOf`, with those of the candidates that the object is a member of; in the order given. */
  membershipsAmong(
    tenantId: string,
    target: Target,
    candidates: readonly string[],
    choice?: Pick<GroupChoice, 'includeRoles'>,
  ): Promise<Memberships>
  /** The groups of an object, in no particular order; at most `limit` of them. */
  groupsOf(tenantId: string, objectId: string, choice?: GroupChoice): Promise<string[]>
  /** Those of the candidates that contain the object, roles only where asked for; in the order given. */
  groupsAmong(
    tenantId: string,
    objectId: string,
    candidates: readonly string[],
    choice?: Pick<GroupChoice, 'includeRoles'>,
  ): Promise<string[]>
  /**
   * The groups that lie within a group or role through any nesting, and itself: its members are the direct members of
   * all these.
   */
  groupsWithin(tenantId: string, containerId: string): Promise<string[]>
  /** The members of a group or role and of the groups within it. */
  membersOf(tenantId: string, containerId: string): Promise<string[]>
  /** Why an object is a member of a group or role. */
  explain(tenantId: string, objectId: string, groupId: string): Promise<Explanation>
}

export interface Explanation {
  /** False: no such object, or it is deleted. */
  readonly hasObject: boolean
  /** False: no such group or role, or it is deleted. */
  readonly hasGroup: boolean
  /** The shortest chain from the group that holds the object directly to the group asked about. Null: not a member. */
  readonly chain: readonly string[] | null
}

export interface GroupChoice {
  /** Leaves groups that are not security-enabled out of the result; memberships through them still count. */
  readonly securityEnabledOnly?: boolean
  readonly includeRoles?: boolean
  readonly limit?: number
}

/** An object by its id or, a user, by userPrincipalName. */
export interface Target {
  readonly key: string
  readonly isName: boolean
  /** Undefined: an object of any kind. */
  readonly kind: ObjectKind | undefined
}

export interface Memberships {
  readonly revision: number
  /** Undefined: no such object, or it is deleted or of another kind. */
  readonly found: { readonly id: string; readonly kind: ObjectKind } | undefined
  readonly count: number
  readonly ids: readonly string[]
  /** The ids as a list in JSON. */
  readonly json: string
}

/** Memberships whose ids are at hand. */
export function listMemberships(
  revision: number,
  found: Memberships['found'],
  ids: readonly string[],
): Memberships {
  return {
    revision,
    found,
    count: ids.length,
    ids,
    get json() {
      return JSON.stringify(ids)
    },
  }
}
