import { codes } from '../../wire/codes.ts'

/** Where a session stands, as both directions know it. */
export class SessionPhase {
  /** The transaction status of the last ReadyForQuery. */
  status: number = codes.idle
  /** Client or server has said goodbye: neither has to be told any more. */
  isOver = false
}
