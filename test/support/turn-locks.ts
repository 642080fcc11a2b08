import pg from 'pg'
import type { createMaskedDatabase } from './masked-database.ts'

type Target = Pick<Awaited<ReturnType<typeof createMaskedDatabase>>, 'url' | 'database'>

/** Holds the lock that turns and dry runs in a masked database begin with. */
export async function holdTurns({ url, database }: Target) {
  const holder = new pg.Client(url)
  await holder.connect()
  await holder.query('begin; lock table masquerade_guard.relation in share row exclusive mode')
  return {
    countWaiting: async (): Promise<number> =>
      (
        await database.sql`
          select from pg_locks l join pg_database d on d.oid = l.database where d.datname = current_database()
            and l.relation = 'masquerade_guard.relation'::regclass and not l.granted`
      ).count,
    [Symbol.asyncDispose]: () => holder.end(),
  }
}
