import { type Properties, text } from '../../entities/property.ts'
import * as of from './shared.ts'

const phones = { type: 'strings', default: [], maxLength: 20 } as const

export const contact: Properties = {
  id: of.id,
  ...of.times,
  categories: of.categories,
  parentFolderId: of.parentId,
  displayName: of.title,
  givenName: of.title,
  surname: of.title,
  middleName: text,
  nickName: text,
  initials: text,
  title: text,
  generation: text,
  fileAs: text,
  companyName: text,
  department: text,
  jobTitle: text,
  manager: text,
  officeLocation: text,
  profession: text,
  birthday: { type: 'dateTime' },
  personalNotes: { type: 'string', maxLength: 32 * 1024 },
  emailAddresses: of.emailAddresses,
  imAddresses: phones,
  businessPhones: phones,
  homePhones: phones,
  mobilePhone: text,
  homeAddress: of.physicalAddress,
  businessAddress: of.physicalAddress,
  otherAddress: of.physicalAddress,
}

export const contactFolder: Properties = {
  id: of.id,
  displayName: of.requiredTitle,
  parentFolderId: of.parentId,
}
