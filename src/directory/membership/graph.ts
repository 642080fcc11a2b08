/**
 * Who is a member of what, through any depth of nesting. Every question about transitive membership goes through
 * this interface and nothing else, so that how it is answered can change.
 *
 * Deleted groups do not count, nor what is reached through them alone. Circles are fine, and no object is a member
 * of itself.
 */
export interface MembershipGraph {
  /** The groups of an object, in no particular order; at most `limit` of them. */
  groupsOf(tenantId: string, objectId: string, choice?: GroupChoice): Promise<string[]>
  /** Which of these groups, and roles where asked for, the object is a member of; in the order given. */
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
  /**
   * The shortest chain of groups that makes the object a member: from the group that holds it directly to the group
   * (or role) asked about. Null when it is no member.
   */
  explain(tenantId: string, objectId: string, groupId: string): Promise<string[] | null>
}

export interface GroupChoice {
  /** Leaves out of the result, not of the way to it, the groups that are not security-enabled. */
  readonly securityEnabledOnly?: boolean
  readonly includeRoles?: boolean
  readonly limit?: number
}
