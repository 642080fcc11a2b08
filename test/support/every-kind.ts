import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Described, Properties, Property } from '../../src/directory/entities/property.ts'
import { itemKinds, itemResource } from '../../src/directory/items/item-resources.ts'
import { standAloneProperties } from '../../src/directory/objects/kinds/group.ts'
import { resources } from '../../src/directory/objects/kinds/resources.ts'
import type { caller } from './call.ts'
import { makeCertificate } from './client-certificate.ts'

type Call = ReturnType<typeof caller>
type Body = Record<string, unknown>

/** An entity that a PATCH can change. */
export interface Patchable {
  readonly path: string
  readonly described: Described
  /** The status of a PATCH. */
  readonly answer: 200 | 204
  /** A change that the kind takes; none for a kind whose properties only its creation sets. */
  readonly change: Body
}

const adaAddress = { street: '1 Quay', city: 'Ghent', state: 'X', countryOrRegion: 'BE', postalCode: '9000' }
const ada = { emailAddress: { name: 'Ada', address: 'ada@example.com' } }
const text = { contentType: 'text', content: 'Hello' }
const moment = (hour: number) => ({ dateTime: `2026-11-15T${hour}:00:00`, timeZone: 'UTC' })
const recurrence = {
  pattern: { type: 'weekly', interval: 1, daysOfWeek: ['monday'], firstDayOfWeek: 'sunday' },
  range: { type: 'endDate', startDate: '2026-11-15', endDate: '2027-11-15', recurrenceTimeZone: 'UTC' },
}
const unified = { groupTypes: ['Unified'], mailEnabled: true, securityEnabled: false }
const serving = {
  '@odata.type': '#vendor.graph.group',
  displayName: 'Crew',
  mailNickname: 'crew',
  ...unified,
}

/** One entity of each kind, with a value of every complex property, made over the API by a caller with a mailbox. */
export async function addEveryKind(call: Call, organizationId: string): Promise<Patchable[]> {
  const made: Patchable[] = []
  const add = async (kind: string, collection: string, body: Body, change: Body): Promise<Body> => {
    const { body: entity } = await call('POST', collection, 201, body)
    keep(kind, `${collection}/${entity.id}`, change)
    return entity
  }
  const keep = (kind: string, path: string, change: Body) => {
    const isItem = itemKinds.some((one) => one === kind)
    const described = isItem ? itemResource(kind as never) : resources[kind as keyof typeof resources]
    made.push({ path, described, change, answer: isItem ? 200 : 204 })
  }
  const group = await addObjects(add)
  keep('organization', `/organization/${organizationId}`, { city: 'Ghent' })
  await call('PATCH', `/organization/${organizationId}`, 204, {
    privacyProfile: { contactEmail: 'privacy@example.com', statementUrl: 'https://privacy.example' },
  })
  await addItems(add)
  const conversation = await addConversation(call, `/groups/${group}`)
  keep('conversation', conversation.path, {})
  keep('thread', conversation.thread, { topic: 'Renamed' })
  keep('post', conversation.post, { categories: ['food'] })
  const changeable = [...Object.keys(resources).filter((kind) => kind !== 'directoryRole'), ...itemKinds]
  assert.deepEqual(made.map(({ described }) => described.kind).sort(), changeable.sort())
  return made
}

type Add = (kind: string, collection: string, body: Body, change: Body) => Promise<Body>

/** Returns the id of the group. */
async function addObjects(add: Add): Promise<unknown> {
  const user = {
    accountEnabled: true,
    displayName: 'Ada',
    mailNickname: 'ada',
    userPrincipalName: `ada-${randomUUID()}@example.com`,
    passwordProfile: { password: 'a long-winded Phrase 42' },
    identities: [{ signInType: 'federated', issuer: 'example.com', issuerAssignedId: '7' }],
  }
  await add('user', '/users', user, { jobTitle: 'Engineer' })
  const labels = [{ labelId: randomUUID(), displayName: 'Secret' }]
  const group = await add('group', '/groups', { ...serving, assignedLabels: labels }, { description: 'New' })
  const { appId } = await add('application', '/applications', await describeApplication(), { notes: 'New' })
  await add('servicePrincipal', '/servicePrincipals', { appId }, { notes: 'New' })
  const addresses = [{ city: 'Ghent', officeLocation: '7' }]
  const contact = { displayName: 'Bo', addresses, phones: [{ number: '1', type: 'mobile' }] }
  await add('orgContact', '/contacts', contact, { companyName: 'New' })
  const device = {
    displayName: 'Laptop',
    accountEnabled: true,
    deviceId: randomUUID(),
    operatingSystem: 'Linux',
    operatingSystemVersion: '6',
    extensionAttributes: { extensionAttribute1: 'one', extensionAttribute15: 'fifteen' },
    alternativeSecurityIds: [{ type: 2, key: 'a2V5' }],
  }
  await add('device', '/devices', device, { model: 'New' })
  return group.id
}

async function describeApplication(): Promise<Body> {
  const scope = randomUUID()
  const { key } = await makeCertificate()
  return {
    displayName: 'Tides',
    web: {
      homePageUrl: 'https://tides.example',
      logoutUrl: 'https://tides.example/out',
      redirectUris: ['https://tides.example/in'],
      implicitGrantSettings: { enableAccessTokenIssuance: false, enableIdTokenIssuance: true },
    },
    spa: { redirectUris: ['https://tides.example/'] },
    publicClient: { redirectUris: ['http://localhost'] },
    api: {
      acceptMappedClaims: true,
      knownClientApplications: [randomUUID()],
      oauth2PermissionScopes: [{ id: scope, isEnabled: true, type: 'User', value: 'read' }],
      preAuthorizedApplications: [{ appId: randomUUID(), delegatedPermissionIds: [scope] }],
      requestedAccessTokenVersion: 1,
    },
    appRoles: [{ id: randomUUID(), allowedMemberTypes: ['User'], displayName: 'Reader', value: 'reader' }],
    requiredResourceAccess: [{ resourceAppId: randomUUID(), resourceAccess: [{ id: scope, type: 'Scope' }] }],
    keyCredentials: [{ key, displayName: 'walk' }],
  }
}

async function addItems(add: Add): Promise<void> {
  const message = { subject: 'Budget', body: text, sender: ada, from: ada, toRecipients: [ada] }
  await add('message', '/me/messages', { ...message, flag: { flagStatus: 'flagged' } }, { subject: 'New' })
  await add('mailFolder', '/me/mailFolders', { displayName: 'Travel' }, { displayName: 'New' })
  const event = {
    subject: 'Lunch',
    body: text,
    start: moment(12),
    end: moment(13),
    location: { displayName: 'Canteen', locationUri: 'https://canteen.example', address: adaAddress },
    attendees: [{ type: 'required', ...ada, status: { response: 'none' } }],
    recurrence,
  }
  await add('event', '/me/events', event, { subject: 'New' })
  await add('calendar', '/me/calendars', { name: 'Work' }, { color: 'lightBlue' })
  await add('calendarGroup', '/me/calendarGroups', { name: 'Shared' }, { name: 'New' })
  const contact = { givenName: 'Cleo', homeAddress: adaAddress, businessAddress: adaAddress }
  await add('contact', '/me/contacts', { ...contact, otherAddress: adaAddress }, { jobTitle: 'Pilot' })
  await add('contactFolder', '/me/contactFolders', { displayName: 'Friends' }, { displayName: 'New' })
  await add('todoTaskList', '/me/todo/lists', { displayName: 'Chores' }, { displayName: 'New' })
  const times = { startDateTime: moment(10), dueDateTime: moment(11), reminderDateTime: moment(12) }
  const task = { title: 'Wash up', body: text, recurrence, ...times, completedDateTime: moment(13) }
  await add('todoTask', '/me/todo/lists/tasks/tasks', task, { title: 'New' })
}

async function addConversation(call: Call, group: string) {
  const posts = [{ body: text, from: ada, sender: ada, newParticipants: [ada] }]
  const threads = [{ topic: 'Cake', toRecipients: [ada], ccRecipients: [ada], posts }]
  const { id } = (await call('POST', `${group}/conversations`, 201, { topic: 'Cake', threads })).body
  const path = `${group}/conversations/${id}`
  const only = async (collection: string) => (await call('GET', collection, 200)).body.value[0].id
  const thread = `${group}/threads/${await only(`${path}/threads`)}`
  return { path, thread, post: `${thread}/posts/${await only(`${thread}/posts`)}` }
}

/** The names of all properties that one GET can show, without those that must come alone in a PATCH. */
export function namesOf({ described: { kind, properties } }: Patchable): string[] {
  return Object.keys(properties).filter(
    (name) => kind !== 'group' || !Object.hasOwn(standAloneProperties, name),
  )
}

/** Reads an entity with all its properties. */
export async function readWhole(call: Call, one: Patchable): Promise<Body> {
  return (await call('GET', `${one.path}?$select=${namesOf(one).join(',')}`, 200)).body
}

/** The properties of an entity that stay where a write changes none of them. */
export function still(entity: Body): Body {
  const moving = ['@odata.etag', 'lastModifiedDateTime', 'lastDeliveredDateTime']
  return Object.fromEntries(Object.entries(entity).filter(([name]) => !moving.includes(name)))
}

/** The fields of a complex value or of the items of a collection of them; undefined: the property has no fields. */
export function fieldsOf({ type }: Property): Properties | undefined {
  if (typeof type === 'string') return undefined
  return 'object' in type ? type.object : type.objects
}
