/**
 * Prefix of the comment on every login role: the controller writes it, and the gateway recognises login roles by it.
 */
export const loginMarkPrefix = 'masquerade login '

/** A longer comment is no mark, and is not read: other roles write some of up to a gigabyte. */
export const longestMark = 300

/** The beginning of the comments of all login roles of a database, or of those of one principal. */
export function markPrefix(databaseId: string, principalId?: string): string {
  return `${loginMarkPrefix}${databaseId} ${principalId === undefined ? '' : `${principalId} `}`
}
