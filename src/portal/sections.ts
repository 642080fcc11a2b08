/**
 * The first segments of the portal's own addresses. The service answers them with the portal's page, so that a reload
 * or a link that was sent works; none of them may be the first segment of an operation.
 */
export const portalSections = [
  'welcome',
  'databases',
  'people',
  'groups',
  'why',
  'applications',
  'roles',
  'credentials',
  'audit',
  'system',
] as const
