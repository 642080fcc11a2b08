import type { EntityWrite, WriteContext } from '../entities/entity-write.ts'
import { requireForGroupThatHoldsRoles, requirePowerOverAccount } from './role-holders.ts'

/** Refuses a write by throwing a `Problem`. */
type WriteRule = (context: WriteContext, write: EntityWrite) => Promise<void> | void

const rules: readonly WriteRule[] = [requireForGroupThatHoldsRoles, requirePowerOverAccount]

/**
 * Checks a write against what is stored. Every operation that writes an entity of the directory calls it, after the
 * permission tables, with the entity locked and before the first statement that changes anything.
 */
export async function beforeWrite(context: WriteContext, write: EntityWrite): Promise<void> {
  for (const rule of rules) await rule(context, write)
}
