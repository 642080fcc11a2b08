import { type Address, addresses, type ItemKind, isObjectKind } from '../addresses/addresses.ts'
import type { Verb } from '../entities/entity-operations.ts'

export interface ItemAddress extends Address {
  readonly kind: ItemKind
  /** Ends the names of operations. */
  readonly noun: string
  /** Paths of the collections that instances lie in; none where a mailbox or group has one of the kind. */
  readonly collections: readonly string[]
  readonly verbs: readonly Verb[]
}

export const itemAddresses: readonly ItemAddress[] = Object.entries<Address>(addresses)
  .filter((entry): entry is [string, Address & { kind: ItemKind }] => !isObjectKind(entry[1].kind))
  .map(([noun, address]) => {
    const collections = address.paths.flatMap(collectionsOf)
    return { ...address, noun, collections, verbs: verbsOf(address.kind, collections) }
  })

/** Conversations, threads and posts are made together, by operations of their own. */
function verbsOf(kind: ItemKind, collections: readonly string[]): Verb[] {
  if (collections.length === 0) return ['get', 'update']
  const isMadeTogether = kind === 'conversation' || kind === 'thread' || kind === 'post'
  return isMadeTogether ? ['list', 'get', 'update', 'delete'] : ['create', 'list', 'get', 'update', 'delete']
}

/** The collections that the instances at a path lie in; folders lie in folders, at any depth. */
function collectionsOf(path: string): string[] {
  if (!/\/:\w+$/.test(path)) return []
  const collection = path.replace(/\/:\w+$/, '')
  return collection.endsWith('/childFolders') ? [collection, `${path}/childFolders`] : [collection]
}
