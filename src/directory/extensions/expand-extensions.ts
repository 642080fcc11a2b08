import type { Caller } from '../../auth/caller.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import type { Json, Stored } from '../entities/property.ts'
import { type ExpandItem, refuse } from '../odata/expand.ts'
import { nameOf } from './extension-name.ts'
import type { Extension } from './extension-store.ts'
import { requireToReadExtensions } from './permissions.ts'
import { idOf, renderExtension } from './render-extension.ts'

/** The extensions that `$expand` asks for: those of one name, or all. */
export interface Expansion {
  readonly name: string | undefined
}

/** Reads `extensions` of an `$expand`, which takes one filter. */
export function readExpansion({ options }: ExpandItem): Expansion {
  const filter = options.get('filter')
  if (options.size > (filter === undefined ? 0 : 1)) refuse('takes extensions with a $filter alone')
  return { name: filter === undefined ? undefined : readIdFilter(filter, '$expand') }
}

/** The name that `id eq '{extensionId}'` asks for. */
export function readIdFilter(text: string, option: string): string {
  const quoted = /^\s*id\s+eq\s+'((?:[^']|'')*)'\s*$/i.exec(text)?.[1]
  if (quoted === undefined || quoted.includes('\0'))
    return fail('InvalidQueryOption', { option, reason: "must have the form id eq '{extensionId}'" })
  return nameOf(quoted.replaceAll("''", "'"))
}

/** The name that a list's `Extensions/any(e:e/id eq '{extensionId}')` asks for; undefined for any other filter. */
export function readExtensionsFilter(text: string): string | undefined {
  const condition = /^\s*extensions\/any\(\s*(\w+)\s*:\s*\1\/(id\s.*)\)\s*$/i.exec(text)?.[2]
  return condition === undefined ? undefined : readIdFilter(condition, '$filter')
}

type Expanded = ReadonlyMap<string, readonly Record<string, Json>[]>

/** The open extensions of these directory objects or items, by the id of the object or item. */
export async function expandExtensions(
  tx: Query,
  caller: Caller,
  place: 'object' | 'item',
  entities: readonly Stored[],
  { name }: Expansion,
): Promise<Expanded> {
  if (place === 'object') for (const entity of entities) requireToReadExtensions(caller, entity)
  if (entities.length === 0) return new Map()
  const ids = entities.map(({ id }) => id)
  const column = place === 'object' ? tx`object_id` : tx`item_id`
  const rows = await tx<(Extension & { on: string })[]>`
    select ${column} as on, name, properties as data from open_extension
    where tenant_id = ${caller.tenantId} and ${column} = any(${ids})
      and ${name === undefined ? tx`true` : tx`lower(name) = lower(${name})`}
    order by created_at, name`
  const byResource = Map.groupBy(rows, (row) => row.on)
  return new Map(
    ids.map((id) => [
      id,
      (byResource.get(id) ?? []).map((row) => renderExtension(row.name, row.data, idOf(place, row.name))),
    ]),
  )
}
