import { fail } from '../../kernel/problem.ts'
import type { Found } from '../addresses/find-resource.ts'
import type { Item } from './item-store.ts'

/** The item that the path of an instance has named. */
export function requireItem({ item }: Found): Item {
  return item ?? fail('ItemNotFound')
}
