import type { Fragment, Query } from '../../db/query.ts'

/**
 * How the rows of a condition are found. `index`: an index leads to them. `words`: an index leads to them, and the
 * planner would rather walk the list, because it expects words to be common. `walk`: by looking at row after row.
 */
export type Access = 'index' | 'words' | 'walk'

/** A condition in SQL. Never await it or its fragment: that would run the fragment. */
export interface Condition {
  readonly sql: Fragment
  readonly access: Access
}

export function both(tx: Query, left: Condition, right: Condition): Condition {
  const accesses = [left.access, right.access]
  const access = accesses.includes('words') ? 'words' : accesses.includes('index') ? 'index' : 'walk'
  return { sql: tx`(${left.sql} and ${right.sql})`, access }
}

export function either(tx: Query, left: Condition, right: Condition): Condition {
  const accesses = [left.access, right.access]
  const access = accesses.includes('walk') ? 'walk' : accesses.includes('words') ? 'words' : 'index'
  return { sql: tx`(${left.sql} or ${right.sql})`, access }
}
