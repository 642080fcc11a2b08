import { lockUntilCommit } from '../../db/advisory-locks.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { scopeOf } from '../place.ts'
import type { Site } from '../resource.ts'

/** Queues transactions that end role assignments with their resource, and those that rely on such an assignment. */
export async function lockAssignments(tx: Query): Promise<void> {
  await lockUntilCommit(tx, 'assignments')
}

/**
 * Refuses a caller whose role ended, with its resource, after the request was permitted. A caller with a role at a database
 * alone could otherwise create the deleted database again, with an exemption or a mapping of their choice, or assign a
 * role that would count for the next one.
 */
export async function confirmRole({ tx, ports, caller, params }: Site, action: string): Promise<void> {
  await lockAssignments(tx)
  const scope = scopeOf(params)
  if (await ports.mayAct(tx, caller, action, scope)) return
  fail('AuthorizationFailed', { client: caller.applicationId, objectId: caller.objectId, action, scope })
}
