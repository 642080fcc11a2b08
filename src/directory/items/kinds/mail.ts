import { flag, oneOfWords, type Properties } from '../../entities/property.ts'
import * as of from './shared.ts'

export const message: Properties = {
  id: of.id,
  ...of.times,
  categories: of.categories,
  receivedDateTime: of.sentTime('receivedDateTime'),
  sentDateTime: of.sentTime('sentDateTime'),
  hasAttachments: of.never,
  internetMessageId: { type: 'string', maxLength: 998 },
  subject: of.title,
  bodyPreview: of.bodyPreview,
  importance: of.importance,
  parentFolderId: of.parentId,
  isDeliveryReceiptRequested: { ...flag, default: false },
  isReadReceiptRequested: { ...flag, default: false },
  isRead: { ...flag, default: false, filter: true },
  isDraft: { ...flag, write: 'never', default: true },
  body: of.body,
  sender: of.recipient,
  from: of.recipient,
  toRecipients: of.recipients,
  ccRecipients: of.recipients,
  bccRecipients: of.recipients,
  replyTo: of.recipients,
  flag: {
    type: {
      named: 'followupFlag',
      object: { flagStatus: { type: 'string', accepts: oneOfWords('notFlagged', 'flagged', 'complete') } },
    },
    default: { flagStatus: 'notFlagged' },
  },
}

export const mailFolder: Properties = {
  id: of.id,
  displayName: of.requiredTitle,
  parentFolderId: of.parentId,
  isHidden: { ...flag, write: 'creation', default: false },
}
