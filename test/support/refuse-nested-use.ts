import { AsyncLocalStorage } from 'node:async_hooks'
import type pg from 'pg'
import { type Database, schemaName } from '../../src/db/database.ts'
import { watchNestedUse } from '../../src/db/nested-use.ts'

interface Held {
  readonly pool: pg.Pool
  readonly outer: Held | undefined
  isOpen: boolean
}

const held = new AsyncLocalStorage<Held | undefined>()

/** The pool of a service. Those of tests have another name, and those of bound databases another search path. */
function isOfService({ options }: pg.Pool): boolean {
  return (
    options.application_name === 'masquerade' &&
    !!options.options?.startsWith(`-c search_path=${schemaName} `)
  )
}

watchNestedUse({
  async within(pool, work) {
    if (!isOfService(pool)) return work()
    const here: Held = { pool, outer: held.getStore(), isOpen: true }
    try {
      return await held.run(here, work)
    } finally {
      here.isOpen = false
    }
  },
  refuse(pool) {
    for (let one = held.getStore(); one; one = one.outer)
      if (one.isOpen && one.pool === pool) {
        const error = new Error(
          'a transaction asks its own pool for a second connection: use its `tx`, or `aside` of the database',
        )
        // A request that fails by it is a 500 without a reason.
        console.error(error)
        throw error
      }
  },
})

/**
 * The same database for tests, which hold a lock in a transaction and look beside it. A property that a test sets is set for the
 * service, too.
 */
export function allowNestedUse(database: Database): Database {
  const transaction: Database['transaction'] = (run, options) =>
    database.transaction((tx) => held.run(undefined, async () => await run(tx)), options)
  return new Proxy(database, {
    get: (target, name) => (name === 'transaction' ? transaction : Reflect.get(target, name)),
  })
}
