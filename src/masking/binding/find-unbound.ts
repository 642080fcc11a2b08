import type { Query } from '../../db/query.ts'
import { type Binding, foldPlaces, serverOf, spreadPlaces, sslModes } from './binding-address.ts'
import { type Bound, type Locator, locate, splitName } from './find-bound.ts'

/**
 * The database `name` on each server that bound databases are on, by `database`, `server/database` and so on. A server where
 * that database is bound, if under another name or by another list of hosts, is left out: through the gateway it is read by that name
 * alone. Bindings that never logged in lead to no server: they may be made up. Lists of hosts that differ are several servers to
 * choose from, and a client has to name one: the login must not go to a host that a stranger listed beside the right one.
 */
export async function findUnbound(
  sql: Query,
  locator: Locator,
  tenantId: string,
  text: string,
): Promise<Bound[]> {
  const parts = splitName(text)
  if (!parts || parts.name === '' || Buffer.byteLength(parts.name) > 63) return []
  const { name, server, group, subscription } = parts
  const found = await sql<{ id: string; target: string; binding: Binding; isMeant: boolean }[]>`
    select id, key as target, binding,
      (${server}::text is null or lower(server_name collate "C") = lower(${server}::text collate "C"))
        and (${group}::text is null or lower(resource_group collate "C") = lower(${group}::text collate "C"))
        and (${subscription}::text is null or lower(subscription_id collate "C") = lower(${subscription}::text collate "C")) as "isMeant"
    from masked_database where tenant_id = ${tenantId} and binding_reached_at is not null order by key`
  const rows = found.map((row) => ({ ...row, folded: foldPlaces(row.binding) }))
  const named = rows.filter(({ binding }) => binding.database === name)
  const bound = spreadPlaces(
    named.flatMap(({ folded }) => folded),
    rows,
  )
  const strongest = rows
    .filter(({ isMeant, folded }) => isMeant && !folded.some((place) => bound.has(place)))
    .toSorted((a, b) => sslModes.indexOf(b.binding.sslmode) - sslModes.indexOf(a.binding.sslmode))
  const servers = Map.groupBy(strongest, ({ binding }) => serverOf(binding))
  return await Promise.all(
    [...servers.values()].map(async (neighbours) => {
      const [{ id, target, binding }] = neighbours as [(typeof neighbours)[number]]
      const { database: _, ...address } = await locate(id, binding, locator)
      return {
        id: `${serverOf(binding)}/${name}`,
        target: target.replace(/\/databases\/[^/]*$/, `/databases/${name.toLowerCase()}`),
        isReached: true,
        neighbourIds: neighbours.map((neighbour) => neighbour.id),
        address: { ...address, database: name },
      }
    }),
  )
}
