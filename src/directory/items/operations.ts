import type { Operation } from '../../api/operation.ts'
import type { DirectoryPorts } from '../operation.ts'
import { createConversation } from './create-conversation.ts'
import { createItem } from './create-item.ts'
import { createThread } from './create-thread.ts'
import { deleteItem } from './delete-item.ts'
import { getItem } from './get-item.ts'
import { listItems } from './list-items.ts'
import { reply } from './reply.ts'
import { updateItem } from './update-item.ts'

export const itemsOperations: readonly Operation<DirectoryPorts>[] = [
  ...createItem,
  createConversation,
  createThread,
  ...reply,
  ...listItems,
  ...getItem,
  ...updateItem,
  ...deleteItem,
]
