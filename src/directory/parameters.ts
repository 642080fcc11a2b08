import type { Room } from '../api/room.ts'
import { castPattern } from '../kernel/surface.ts'

const uuid = '10000000-0000-4000-8000-000000000001'
const byId = (description: string, example = uuid) => ({ description, example })

/** The parameters of the directory's paths, for readers of its description. */
export const parameters: Room['parameters'] = {
  id: byId('The id of the object; of a user also the userPrincipalName.'),
  otherId: byId('The id of the related object.'),
  assignment: byId('The id of the assignment.'),
  subscription: byId('The id of the subscription.'),
  extensionProperty: byId('The id of the definition.'),
  key: byId('The id.'),
  cast: { ...byId('The type of the objects.', 'vendor.graph.user'), pattern: castPattern },
  extensionId: byId('The name of the extension, or its id.', 'com.example.badge'),
  user: byId('The id or userPrincipalName of the user.'),
  group: byId('The id of the group.'),
  device: byId('The id of the device.'),
  organization: byId('The id of the organization, which is the tenant.'),
  message: byId('The id of the message.'),
  mailFolder: byId('The id of the mail folder, or its well-known name.', 'inbox'),
  childFolders: byId('The id of the folder inside.'),
  event: byId('The id of the event.'),
  calendar: byId('The id of the calendar.'),
  calendarGroup: byId('The id of the calendar group.'),
  contact: byId('The id of the contact.'),
  contactFolder: byId('The id of the contact folder.'),
  list: byId('The id of the task list.'),
  task: byId('The id of the task.'),
  conversation: byId('The id of the conversation.'),
  thread: byId('The id of the thread.'),
  post: byId('The id of the post.'),
}
