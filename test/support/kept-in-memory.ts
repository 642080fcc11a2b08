import type { KeptRecords } from '../../src/enforcement/guard/kept-records.ts'
import type { StoredGuard } from '../../src/enforcement/guard/stored-grants.ts'

/** Records as the service keeps them where the role of the binding may not make a place for them in the database. */
export function keepInMemory(): KeptRecords & { readonly count: () => number } {
  let records: readonly StoredGuard[] = []
  return {
    count: () => records.length,
    read: async () => [...records],
    readCopy: async () => null,
    copy: async () => {},
    write: async (_, all) => {
      records = all
    },
    clear: async () => {
      records = []
    },
  }
}
