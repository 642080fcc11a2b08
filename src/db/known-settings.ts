import type pg from 'pg'
import { withoutUnknown } from './steady-settings.ts'

/** A server refuses a session that starts with a setting of later releases: the pool then goes on without it. */
export async function withKnownSettings<T>(pool: pg.Pool, run: () => Promise<T>): Promise<T> {
  for (;;) {
    const { options = '' } = pool.options
    try {
      return await run()
    } catch (error) {
      const known = withoutUnknown(options, error)
      if (known === null) throw error
      pool.options.options = known
    }
  }
}
