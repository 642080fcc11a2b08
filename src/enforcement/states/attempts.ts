import { LeaseLost } from '../lease.ts'
import { NameHeld } from '../sessions/name-holders.ts'

export const attempts = 6

/** Attempts for locks that a session may hold on purpose: the answer then says what it waits for. */
export const patientAttempts = 3

/** How often a failure that passes by itself is worth a retry. A lease was waited for already. */
export function countAttempts(error: unknown): number {
  if (error instanceof LeaseLost && error.isHeld) return 1
  return error instanceof NameHeld ? patientAttempts : attempts
}

/** Changes of a catalog come in bursts: one look is enough for all of one. */
export const settleMs = 100
/** Between turns of which each makes some of very many twins. */
export const pauseMs = 1000
