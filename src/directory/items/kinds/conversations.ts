import { flag, type Properties } from '../../entities/property.ts'
import * as of from './shared.ts'

export const conversation: Properties = {
  id: of.id,
  topic: { ...of.requiredTitle, write: 'creation' },
  hasAttachments: of.never,
  lastDeliveredDateTime: of.delivered.thread,
}

export const thread: Properties = {
  id: of.id,
  topic: of.title,
  isLocked: { ...flag, default: false },
  hasAttachments: of.never,
  lastDeliveredDateTime: of.delivered.thread,
  toRecipients: of.recipients,
  ccRecipients: of.recipients,
}

export const post: Properties = {
  id: of.id,
  ...of.times,
  receivedDateTime: of.delivered.post,
  categories: of.categories,
  body: of.body,
  from: of.recipient,
  sender: of.recipient,
  newParticipants: of.recipients,
  hasAttachments: of.never,
  conversationThreadId: of.parentId,
}
