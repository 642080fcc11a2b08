import type { Caller } from '../../auth/caller.ts'
import type { Params } from '../../auth/permission.ts'
import { lockUntilCommit } from '../../db/advisory-locks.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { scopeOf } from '../place.ts'

interface Write {
  readonly tx: Query
  readonly ports: {
    mayAct(tx: Query, caller: Caller, action: string, scope: string): Promise<boolean>
  }
  readonly caller: Caller
  readonly params: Params
}

/** Queues transactions that end role assignments, and those that rely on one without a locked row. */
export async function lockAssignments(tx: Query): Promise<void> {
  await lockUntilCommit(tx, 'assignments')
}

/**
 * MASK-227: refuses a caller whose role ended after the request was permitted. A write that waited for the row that it is
 * about asks it before what it finds there shows in the answer, and every write before it commits (`operation`, MASK-245).
 */
export async function requireRole(
  { tx, ports, caller, params }: Write,
  action: string,
  scope = scopeOf(params),
): Promise<void> {
  if (await ports.mayAct(tx, caller, action, scope)) return
  fail('AuthorizationFailed', { client: caller.applicationId, objectId: caller.objectId, action, scope })
}

/**
 * The same where no row serialises the write with the end of the role. An Owner could otherwise assign a role that is not
 * in the list which another Owner reads after the revocation, or that counts for the next database of a deleted one's name.
 */
export async function confirmRole(write: Write, action: string): Promise<void> {
  await lockAssignments(write.tx)
  await requireRole(write, action)
}
