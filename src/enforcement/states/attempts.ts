import { LeaseLost } from '../lease.ts'
import { NameHeld } from '../sessions/name-holders.ts'

export const attempts = 6

/** Attempts for locks that a session may hold on purpose: the answer then says what it waits for. */
export const patientAttempts = 3

/** Why a database is looked at. */
export type Occasion = 'change' | 'login' | 'audit'

/**
 * How often a failure that passes by itself is worth a retry. A lease was waited for already; for a name the answer to a
 * caller waits a moment, and an audit comes again anyway.
 */
export function countAttempts(error: unknown, occasion: Occasion): number {
  if (error instanceof LeaseLost && error.isHeld) return 1
  if (error instanceof NameHeld) return occasion === 'audit' ? 1 : patientAttempts
  return attempts
}

/** Changes of a catalog come in bursts: one look is enough for all of one. */
export const settleMs = 100
/** Between turns of which each makes some of very many twins, or that find a login role being changed. */
export const pauseMs = 1000
