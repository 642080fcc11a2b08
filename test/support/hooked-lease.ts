import type { Lease } from '../../src/masks/lease.ts'

/** A lease that every turn gets. `act` runs when a turn has read everything and is about to make its first change. */
export function hookLease(act: () => PromiseLike<unknown>): Lease {
  return {
    look: async () => 0,
    async take(_, least) {
      await act()
      return { epoch: least + 1, requireHeld: async () => {}, release: async () => {} }
    },
  }
}
