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
  #raised: Promise<void> | undefined

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

  /** Records the epoch in the schema of our records; once. Statements may follow before it is known that it could. */
  raise(tx: Tx, schema: string): void {
    if (!this.#held || this.#raised) return
    this.#raised = recordEpoch(tx, schema, this.#held.epoch)
    this.#raised.catch(() => {})
  }

  /** Rejects when the epoch could not be recorded. */
  async requireRaised(): Promise<void> {
    await this.#raised
  }

  /** The last statement before the commit. */
  async requireHeld(): Promise<void> {
    await this.requireRaised()
    await this.#held?.requireHeld()
  }

  async release(): Promise<void> {
    await this.#held?.release()
    this.#held = undefined
    this.#raised = undefined
  }
}

async function recordEpoch(tx: Tx, schema: string, epoch: number): Promise<void> {
  const raised = await tx`
    update ${tx(schema)}.policy set epoch = ${epoch} where coalesce(epoch, 0) < ${epoch} returning 1`
  if (raised.length === 0) throw new LeaseLost('another node changed the database later')
}
