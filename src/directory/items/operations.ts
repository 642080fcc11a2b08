import type { Operation } from '../../api/operation.ts'
import { operationsOn } from '../entities/entity-operations.ts'
import type { DirectoryPorts } from '../operation.ts'
import { createConversation, createThread, reply } from './conversations.ts'
import { itemAddresses } from './item-addresses.ts'
import { itemSet } from './item-set.ts'

export const itemsOperations: readonly Operation<DirectoryPorts>[] = [
  ...itemAddresses.flatMap((address) => operationsOn(itemSet(address), address.verbs)),
  createConversation,
  createThread,
  ...reply,
]
