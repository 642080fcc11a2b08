import { created } from '../../api/operation.ts'
import { appendChanges } from '../../db/change-log.ts'
import { addresses } from '../addresses/addresses.ts'
import { findResource } from '../addresses/find-resource.ts'
import { pathOf } from '../addresses/resource-path.ts'
import { entitySchema } from '../entities/schemas.ts'
import { entityTag } from '../objects/object-store.ts'
import { operation } from '../operation.ts'
import { deleteOpenExtensionPermissions } from '../permissions.ts'
import { itemResource } from './item-resources.ts'
import type { Item } from './item-store.ts'
import { openBody } from './open-body.ts'
import { showEntity } from './show-item.ts'
import { readBodies, startThread } from './start-thread.ts'
import { describeItemChange, writeNewItem } from './write-item.ts'

export const createConversation = operation({
  name: 'createConversation',
  clause: 'DIR-135',
  summary: 'Start a conversation in a group by its first threads',
  method: 'POST',
  path: '/groups/:group/conversations',
  permission: { row: deleteOpenExtensionPermissions['group post'] },
  body: openBody('topic (required), threads (at least one, each with posts)'),
  answers: { 201: entitySchema(itemResource('conversation')) },
  async run(context) {
    const { tx, caller, params, body, request } = context
    const { threads, ...own } = body
    const bodies = readBodies('conversation', 'threads', threads)
    const { object } = await findResource(tx, caller, addresses.Conversation, params, { writes: true })
    const place = { owner: object, parent: undefined }
    const conversation = await writeNewItem(context, 'conversation', place, own)
    const written: Item[] = [conversation]
    for (const thread of bodies) written.push(...(await startThread(context, object, conversation, thread)))
    const changes = written.map((item) => describeItemChange('created', item))
    await appendChanges(tx, caller.tenantId, changes)
    const located = { object, item: conversation }
    return created(showEntity(request.baseUrl, located), {
      etag: entityTag(conversation),
      location: `${request.baseUrl}${pathOf(located)}`,
    })
  },
})
