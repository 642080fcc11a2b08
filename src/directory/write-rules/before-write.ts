import type { EntityWrite, WriteContext } from '../entities/entity-write.ts'
import { keepAdministrators } from './keep-administrators.ts'
import { keepOwnClients } from './keep-own-clients.ts'
import { keepOwnNames } from './keep-own-names.ts'
import {
  requireAdministratorToRevive,
  requireAdministratorToUnblock,
} from './require-administrator-to-revive.ts'
import { requireForCarryingGroup } from './require-for-carrying-group.ts'
import { requirePersonsRight } from './require-persons-right.ts'
import { requirePowerOverAccount } from './require-power-over-account.ts'
import { requireStrongerThanApplication } from './require-stronger-than-application.ts'

/** Refuses a write by throwing a `Problem`. */
type WriteRule = (context: WriteContext, write: EntityWrite) => Promise<void> | void

const rules: readonly WriteRule[] = [
  keepOwnClients,
  requirePersonsRight,
  requireForCarryingGroup,
  requirePowerOverAccount,
  requireAdministratorToUnblock,
  requireStrongerThanApplication,
  requireAdministratorToRevive,
  keepOwnNames,
  keepAdministrators,
]

/**
 * Checks a write against what is stored. Every operation that writes an entity of the directory calls it, after the
 * permission tables, with the entity locked and before the first statement that changes anything.
 */
export async function beforeWrite(context: WriteContext, write: EntityWrite): Promise<void> {
  for (const rule of rules) await rule(context, write)
}
