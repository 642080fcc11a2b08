import { type Address, addresses, type ItemKind, isObjectKind } from '../addresses/addresses.ts'

export interface ItemAddress extends Address {
  readonly kind: ItemKind
  /** Ends the names of operations. */
  readonly noun: string
  /** Paths of the collections that instances lie in; none for what there is one of. */
  readonly collections: readonly string[]
}

const itemAddresses = Object.entries<Address>(addresses)
  .filter((entry): entry is [string, Address & { kind: ItemKind }] => !isObjectKind(entry[1].kind))
  .map(([noun, address]) => ({ ...address, noun, collections: address.paths.flatMap(collectionsOf) }))

/** Folders lie in folders: the one that a path names has a collection of its own. */
function collectionsOf(path: string): string[] {
  if (!/\/:\w+$/.test(path)) return []
  const collection = path.replace(/\/:\w+$/, '')
  return collection.endsWith('/childFolders') ? [collection, `${path}/childFolders`] : [collection]
}

/** What can be read and changed: items, and what a mailbox or group has one of. */
export const instances: readonly ItemAddress[] = itemAddresses
/** What can be listed and deleted. */
export const listed: readonly ItemAddress[] = itemAddresses.filter(
  ({ collections }) => collections.length > 0,
)
/** What is made by itself; conversations, threads and posts are made together. */
export const creatable: readonly ItemAddress[] = listed.filter(
  ({ kind }) => kind !== 'conversation' && kind !== 'thread' && kind !== 'post',
)
