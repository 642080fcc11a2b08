import { createHash } from 'node:crypto'
import type { Query } from '../../db/query.ts'
import type { ItemKind } from '../addresses/addresses.ts'

/** The items that every mailbox and group has: their well-known names in paths, and their titles. */
const defaults: Readonly<Partial<Record<ItemKind, Readonly<Record<string, string>>>>> = {
  mailFolder: {
    inbox: 'Inbox',
    drafts: 'Drafts',
    sentitems: 'Sent Items',
    deleteditems: 'Deleted Items',
    archive: 'Archive',
    junkemail: 'Junk Email',
    outbox: 'Outbox',
  },
  calendarGroup: { calendargroup: 'My Calendars' },
  calendar: { calendar: 'Calendar' },
  contactFolder: { contacts: 'Contacts' },
  todoTaskList: { tasks: 'Tasks' },
}

/** The default item that a new item lies in when the path names none. */
export const defaultPlaces: Readonly<Partial<Record<ItemKind, readonly [ItemKind, string]>>> = {
  message: ['mailFolder', 'drafts'],
  event: ['calendar', 'calendar'],
  calendar: ['calendarGroup', 'calendargroup'],
  contact: ['contactFolder', 'contacts'],
}

/** The id of the item with a well-known name; undefined for any other text. */
export function idOfDefault(ownerId: string, kind: ItemKind, name: string): string | undefined {
  const lowered = name.toLowerCase()
  return Object.hasOwn(defaults[kind] ?? {}, lowered) ? makeId(ownerId, kind, lowered) : undefined
}

/** The well-known name of an item; undefined for items that callers made. */
export function wellKnownNameOf(ownerId: string, kind: ItemKind, id: string): string | undefined {
  return Object.keys(defaults[kind] ?? {}).find((name) => makeId(ownerId, kind, name) === id)
}

/**
 * Stores the default items of this kind, on the first request for them. For callers they were always there: this is no
 * change of the directory, and reads may do it.
 */
export async function storeDefaults(
  tx: Query,
  tenantId: string,
  ownerId: string,
  kind: ItemKind,
): Promise<void> {
  const names = Object.entries(defaults[kind] ?? {})
  if (names.length === 0) return
  const [placeKind, placeName] = defaultPlaces[kind] ?? []
  if (placeKind) await storeDefaults(tx, tenantId, ownerId, placeKind)
  const rows = names.map(([name, title]) => ({
    tenant_id: tenantId,
    id: makeId(ownerId, kind, name),
    kind,
    owner_id: ownerId,
    parent_id: placeKind && placeName ? makeId(ownerId, placeKind, placeName) : null,
    properties: tx.json({ [kind.startsWith('calendar') ? 'name' : 'displayName']: title }),
  }))
  await tx`insert into item ${tx(rows)} on conflict do nothing`
}

/** The id follows from the name, so that two first requests at once make one folder and not two. */
function makeId(ownerId: string, kind: ItemKind, name: string): string {
  const bytes = createHash('sha256').update(`${ownerId.toLowerCase()} ${kind} ${name}`).digest()
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
