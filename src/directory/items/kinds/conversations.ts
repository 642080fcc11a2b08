import { flag, type Properties } from '../../entities/property.ts'
import * as of from './shared.ts'

export const conversation: Properties = {
  id: of.id,
  topic: { ...of.requiredTitle, write: 'creation' },
  hasAttachments: of.never,
  lastDeliveredDateTime: { type: 'dateTime', write: 'never', column: 'updated_at' },
}

export const thread: Properties = {
  id: of.id,
  topic: of.title,
  isLocked: { ...flag, default: false },
  hasAttachments: of.never,
  lastDeliveredDateTime: { type: 'dateTime', write: 'never', column: 'updated_at' },
  toRecipients: of.recipients,
  ccRecipients: of.recipients,
}

export const post: Properties = {
  id: of.id,
  ...of.times,
  receivedDateTime: { type: 'dateTime', write: 'never', column: 'created_at' },
  categories: of.categories,
  body: of.body,
  from: of.recipient,
  sender: of.recipient,
  newParticipants: of.recipients,
  hasAttachments: of.never,
  conversationThreadId: of.parentId,
}
