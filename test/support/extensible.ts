import { randomUUID } from 'node:crypto'
import type { TestDirectory } from './directory.ts'
import type { TestService } from './service.ts'

/** One resource of each kind that holds open extensions, put straight into the tables. */
export async function addExtensibleResources(service: TestService, directory: TestDirectory) {
  const { sql } = service.database
  const { tenantId } = service
  const addItem = async (kind: string, ownerId: string, parentId: string | null = null): Promise<string> => {
    const id = randomUUID()
    await sql`
      insert into item (tenant_id, id, kind, owner_id, parent_id, properties)
      values (${tenantId}, ${id}, ${kind}, ${ownerId}, ${parentId}, '{}')`
    return id
  }

  const name = `owner-${randomUUID()}`
  const user = await directory.user(name)
  const group = await directory.unifiedGroup()
  const device = await directory.device()
  const mailFolder = await addItem('mailFolder', user)
  const childFolder = await addItem('mailFolder', user, mailFolder)
  const grandchildFolder = await addItem('mailFolder', user, childFolder)
  const calendarGroup = await addItem('calendarGroup', user)
  const calendar = await addItem('calendar', user, calendarGroup)
  const contactFolder = await addItem('contactFolder', user)
  const childContactFolder = await addItem('contactFolder', user, contactFolder)
  const list = await addItem('todoTaskList', user)
  const conversation = await addItem('conversation', group)
  const thread = await addItem('thread', group, conversation)
  return {
    addItem,
    user,
    userPrincipalName: `${name}@example.com`,
    group,
    device,
    organization: tenantId,
    mailFolder,
    childFolder,
    grandchildFolder,
    calendarGroup,
    calendar,
    contactFolder,
    childContactFolder,
    list,
    conversation,
    thread,
    message: await addItem('message', user, grandchildFolder),
    event: await addItem('event', user, calendar),
    contact: await addItem('contact', user, childContactFolder),
    task: await addItem('todoTask', user, list),
    groupEvent: await addItem('event', group),
    post: await addItem('post', group, thread),
  }
}

export type ExtensibleResources = Awaited<ReturnType<typeof addExtensibleResources>>

/** The paths of the specification's table with the keys of these resources filled in, and other spellings of them. */
export function fillPath(path: string, resource: string, ids: ExtensibleResources, user = ids.user): string {
  const owner: Record<string, string> = { devices: ids.device, groups: ids.group, users: user }
  const inner: Record<string, string> = {
    event: ids.event,
    'group event': ids.groupEvent,
    'group post': ids.post,
    message: ids.message,
    'personal contact': ids.contact,
  }
  const [, set = '', ...rest] = path.split('/')
  const filled = rest.map((segment, at) => {
    const before = [set, ...rest][at]
    if (segment === '{extensionId}' || !segment.startsWith('{')) return segment
    if (at === 0) return set === 'organization' ? ids.organization : (owner[set] ?? segment)
    if (segment === '{todoTaskListId}') return ids.list
    if (segment === '{taskId}') return ids.task
    return before === 'threads' ? ids.thread : (inner[resource] ?? segment)
  })
  return ['', set, ...filled].join('/')
}
