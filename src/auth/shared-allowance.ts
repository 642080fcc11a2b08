import type { Query } from '../db/query.ts'

/** Takes requests of a caller's present second from the part of its limit that all nodes share. */
export function createSharedTaking(sql: Query) {
  return async (caller: string, requests: number, most: number): Promise<boolean> => {
    const taken = await sql`
      insert into request_allowance as a (caller, second, taken)
      values (${caller}, floor(extract(epoch from now()))::int8, ${requests})
      on conflict (caller) do update set second = excluded.second,
        taken = case when a.second = excluded.second then a.taken else 0 end + excluded.taken
      where a.second <> excluded.second or a.taken + excluded.taken <= ${most}
      returning 1`
    return taken.length > 0
  }
}
