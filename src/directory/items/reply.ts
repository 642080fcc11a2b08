import { appendChanges } from '../../db/change-log.ts'
import { fail } from '../../kernel/problem.ts'
import { type Address, addresses } from '../addresses/addresses.ts'
import { findResource } from '../addresses/find-resource.ts'
import { isJsonObject } from '../entities/storable.ts'
import { operation } from '../operation.ts'
import { deleteOpenExtensionPermissions } from '../permissions.ts'
import { findItem, touchItem } from './item-store.ts'
import { openBody } from './open-body.ts'
import { requireItem } from './require-item.ts'
import { writePost } from './start-thread.ts'
import { describeItemChange } from './write-item.ts'

/** As the original has it, a reply is accepted without a body; the posts of the thread show it. */
const replyTo = (noun: 'Thread' | 'Post', address: Address) =>
  operation({
    name: `replyTo${noun}`,
    clause: 'DIR-135',
    summary: 'Add a post to a thread, with the open extensions it brings along',
    method: 'POST',
    path: address.paths.map((path) => `${path}/reply`),
    permission: { row: deleteOpenExtensionPermissions[address.row] },
    body: openBody('post (with a body)'),
    answers: { 202: null },
    async run(context) {
      const { tx, caller, params, body } = context
      const { post: sent, ...others } = body
      const [unknown] = Object.keys(others)
      if (unknown !== undefined) fail('InvalidProperty', { property: unknown.slice(0, 200) })
      if (!isJsonObject(sent)) return fail('PropertyRequired', { property: 'post', resource: 'Reply' })
      const found = await findResource(tx, caller, address, params, { writes: true })
      const item = requireItem(found)
      const { object } = found
      const threadId = item.kind === 'thread' ? item.id : (item.parentId ?? '')
      const thread = await findItem(tx, caller.tenantId, object.id, 'thread', threadId, { lock: true })
      if (thread.properties.isLocked === true) fail('ThreadLocked')
      const post = await writePost(context, object, thread, sent)
      const touched = await touchItem(tx, caller.tenantId, thread)
      await appendChanges(tx, caller.tenantId, [
        describeItemChange('created', post),
        describeItemChange('updated', touched),
      ])
      return { status: 202 }
    },
  })

export const reply = [replyTo('Thread', addresses.Thread), replyTo('Post', addresses.Post)]
