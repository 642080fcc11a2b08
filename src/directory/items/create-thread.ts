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
import { openBody } from './open-body.ts'
import { showEntity } from './show-item.ts'
import { startThread } from './start-thread.ts'
import { describeItemChange } from './write-item.ts'

export const createThread = operation({
  name: 'createThread',
  clause: 'DIR-135',
  summary: 'Start a thread in a group by its first posts',
  method: 'POST',
  path: ['/groups/:group/threads', '/groups/:group/conversations/:conversation/threads'],
  permission: { row: deleteOpenExtensionPermissions['group post'] },
  body: openBody('topic (of the thread), posts (at least one, each with a body)'),
  answers: { 201: entitySchema(itemResource('thread')) },
  async run(context) {
    const { tx, caller, params, body, request } = context
    const found = await findResource(tx, caller, addresses.Thread, params, { writes: true })
    const [thread, ...others] = await startThread(context, found.object, found.item, body)
    const written = [...others.filter(({ kind }) => kind === 'conversation'), thread]
    const posts = others.filter(({ kind }) => kind === 'post')
    const changes = [...written, ...posts].map((item) => describeItemChange('created', item))
    await appendChanges(tx, caller.tenantId, changes)
    const located = { object: found.object, item: thread }
    return created(showEntity(request.baseUrl, located), {
      etag: entityTag(thread),
      location: `${request.baseUrl}${pathOf(located)}`,
    })
  },
})
