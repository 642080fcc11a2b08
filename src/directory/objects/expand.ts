import type { Caller } from '../../auth/caller.ts'
import type { Query } from '../../db/query.ts'
import type { Json } from '../entities/property.ts'
import { type Expansion, expandExtensions } from '../extensions/expand-extensions.ts'
import { requireToReadExtensions } from '../extensions/permissions.ts'
import type { ObjectKind } from './kinds/resource.ts'
import type { DirectoryObject } from './object-store.ts'

/** The kinds that open extensions can hang on. */
export const expandable: ReadonlySet<ObjectKind> = new Set(['user', 'group', 'device', 'organization'])

/** Adds to rendered objects what `$expand` asks for. */
export async function showExpanded(
  { tx, caller }: { readonly tx: Query; readonly caller: Caller },
  expansion: Expansion | undefined,
  shown: readonly Record<string, Json>[],
  objects: readonly DirectoryObject[],
): Promise<readonly Record<string, Json>[]> {
  if (!expansion) return shown
  for (const object of objects) requireToReadExtensions(caller, object)
  const ids = objects.map(({ id }) => id)
  const extensions = await expandExtensions(tx, caller.tenantId, 'object', ids, expansion)
  return shown.map((object, at) => ({ ...object, extensions: extensions.get(ids[at] ?? '') ?? [] }))
}
