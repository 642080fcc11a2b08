import type { Tx } from '../../db/transaction.ts'
import { type Lease, LeaseLost, type TurnLease } from '../lease.ts'

/**
 * Keeps a turn that lost its lease from committing. The masked database records the highest epoch, so that a turn is
 * refused there also after the store has forgotten a lease.
 */
export class Fence {
  readonly #lease: Lease | undefined
  #seen = 0
  #held: TurnLease | undefined
  #isRaised = false

  constructor(lease: Lease | undefined) {
    this.#lease = lease
  }

  /** Runs before the policy is read. */
  async look(): Promise<void> {
    this.#seen = (await this.#lease?.look()) ?? 0
  }

  /** Runs before the first change. `recorded`: the epoch in the masked database. */
  async enter(recorded: number): Promise<void> {
    this.#held ??= await this.#lease?.take(this.#seen, recorded)
  }

  /** Records the epoch in the schema of our records; once. */
  async raise(tx: Tx, schema: string): Promise<void> {
    if (!this.#held || this.#isRaised) return
    this.#isRaised = true
    const { epoch } = this.#held
    const raised = await tx`
      update ${tx(schema)}.policy set epoch = ${epoch} where coalesce(epoch, 0) < ${epoch} returning 1`
    if (raised.length === 0) throw new LeaseLost('another node changed the database later')
  }

  /** The last statement before the commit. */
  async requireHeld(): Promise<void> {
    await this.#held?.requireHeld()
  }

  async release(): Promise<void> {
    await this.#held?.release()
    this.#held = undefined
    this.#isRaised = false
  }
}
