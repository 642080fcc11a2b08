import { isDeepStrictEqual } from 'node:util'
import type { RoleMasks } from '../../contracts/role-masks.ts'
import { everySecond } from '../../kernel/every-second.ts'
import { isAtPlace } from '../login/require-place.ts'
import type { BackendAddress, BoundPlaces, GatewayPorts } from '../ports.ts'
import { MaskMap } from './mask-map.ts'

type CachePorts = Pick<GatewayPorts, 'readMasks' | 'readVersion' | 'findPlaces' | 'log'>

interface Entry {
  map: MaskMap
  /** The role that the map is of; undefined: it is the same for every role. */
  roleOid: number | undefined
  text: string
  /** Those of the role when the map was read for a session; undefined: the map may date from other ones. */
  memberships: string | undefined
  users: number
  /** When the last of them left. */
  leftAt: number
}

interface Page {
  readonly databaseId: string
  readonly roles: Map<string, Entry>
  version: string
  /** Where the database was bound to when its masks were read. */
  places: BoundPlaces | undefined
  readAt: number
  reading: Promise<void> | undefined
}

/** A node that missed the notification of another finds the change by its version, and by a whole look a change that has no version (foreign keys). */
const readEveryMs = 10_000
/** Of masks whose binding changes meanwhile. */
const mostReadings = 3
/** Clients that connect for every statement find what they need. */
const keepMs = 30_000

const nothing: RoleMasks = { relations: [], homonyms: [], isUnknown: true }
const unknown = new MaskMap(nothing)

/**
 * The relations that move, for every database and role that has or recently had a session. A wrong or late entry can
 * only make the database deny a statement.
 */
export class MaskCache {
  readonly #ports: CachePorts
  readonly #pages = new Map<string, Page>()
  /** Pages that the timer looks at now. A database may take longer than the time between two looks. */
  readonly #looking = new Set<Page>()
  readonly #stop: () => void

  constructor(ports: CachePorts) {
    this.#ports = ports
    this.#stop = everySecond(() => {
      this.#forget()
      for (const page of this.#pages.values()) {
        if (!isUsed(page) || this.#looking.has(page)) continue
        this.#looking.add(page)
        void this.#look(page).finally(() => this.#looking.delete(page))
      }
    })
  }

  /**
   * The map of a role for as long as a session holds it. Memberships have no version: a session whose role has others
   * than the map was read for has it read again, or its statements would be denied. A role can be renamed, and another one take its
   * name: then no map is known for the session. Nor is one of a session at a place that the masks were not read from.
   */
  async hold(
    databaseId: string,
    role: string,
    {
      roleOid,
      memberships,
      address,
    }: { readonly roleOid: number; readonly memberships: string; readonly address: BackendAddress },
  ): Promise<{ current(): MaskMap; release(): void }> {
    const page = this.#pages.get(databaseId) ?? {
      databaseId,
      roles: new Map(),
      version: '',
      places: undefined,
      readAt: 0,
      reading: undefined,
    }
    this.#pages.set(databaseId, page)
    const entry: Entry = page.roles.get(role) ?? newEntry()
    // Masks of two places may have one version.
    const isRead = entry.memberships === memberships && isAtPlace(address, page.places)
    const wasUsed = isUsed(page)
    page.roles.set(role, entry)
    entry.users++
    entry.memberships = memberships
    // A page without users is not kept up to date: look at it again.
    await (!isRead ? this.#read(page, entry) : wasUsed ? page.reading : this.#look(page))
    // Compared once for each reading of the places, as every message asks for the map.
    let compared = page.places
    let isThere = isAtPlace(address, compared)
    return {
      current() {
        if (compared !== page.places) {
          compared = page.places
          isThere = isAtPlace(address, compared)
        }
        const isOfRole = entry.roleOid === undefined || entry.roleOid === roleOid
        return isOfRole && isThere ? entry.map : unknown
      },
      release: () => {
        entry.users--
        entry.leftAt = Date.now()
      },
    }
  }

  /** After a change on this node, before its caller gets the answer. */
  async refresh(databaseId: string): Promise<void> {
    const page = this.#pages.get(databaseId)
    if (page) await this.#read(page)
  }

  async refreshAll(): Promise<void> {
    await Promise.all([...this.#pages.values()].map((page) => this.#read(page)))
  }

  close(): void {
    this.#stop()
  }

  #forget(): void {
    for (const [databaseId, { roles }] of this.#pages) {
      for (const [role, { users, leftAt }] of roles)
        if (users === 0 && Date.now() - leftAt > keepMs) roles.delete(role)
      if (roles.size === 0) this.#pages.delete(databaseId)
    }
  }

  async #look(page: Page): Promise<void> {
    try {
      const version = await this.#ports.readVersion(page.databaseId)
      if (version !== page.version || Date.now() - page.readAt > readEveryMs) await this.#read(page)
    } catch (err) {
      this.#ports.log.warn({ err, databaseId: page.databaseId }, 'masks cannot be looked up')
    }
  }

  /** One at a time: an older answer never overwrites a newer one. */
  async #read(page: Page, held?: Entry): Promise<void> {
    const before = page.reading
    const mine = (async () => {
      await before
      try {
        const { places, version, masks } = await this.#readSettled(page)
        page.places = places
        for (const [role, entry] of page.roles) {
          const found = masks.get(role)
          const text = describe(found ?? nothing)
          if (!found || text === entry.text) continue
          Object.assign(entry, { map: new MaskMap(found), roleOid: found.roleOid, text })
          if (entry !== held) entry.memberships = undefined
        }
        page.version = version
        page.readAt = places ? Date.now() : 0
      } catch (err) {
        for (const entry of page.roles.values()) entry.memberships = undefined
        this.#ports.log.warn({ err, databaseId: page.databaseId }, 'masks cannot be looked up')
      }
    })()
    page.reading = mine
    await mine
  }

  /**
   * The masks with the places that they were read from. No places: the binding changed during every reading, and masks of a former
   * place must not count at the next one.
   */
  async #readSettled({ databaseId, roles }: Page) {
    let before = await this.#findPlaces(databaseId)
    for (let reading = 1; ; reading++) {
      const version = await this.#ports.readVersion(databaseId)
      const masks = await this.#ports.readMasks(databaseId, [...roles.keys()])
      const places = await this.#findPlaces(databaseId)
      if (isDeepStrictEqual(before, places)) return { places, version, masks }
      if (reading === mostReadings) return { places: undefined, version, masks }
      before = places
    }
  }

  async #findPlaces(databaseId: string): Promise<BoundPlaces | undefined> {
    return (await this.#ports.findPlaces([databaseId])).get(databaseId)
  }
}

function newEntry(): Entry {
  return { map: unknown, roleOid: undefined, text: '', memberships: undefined, users: 0, leftAt: 0 }
}

function isUsed({ roles }: Page): boolean {
  for (const { users } of roles.values()) if (users > 0) return true
  return false
}

/** The same for the same masks. */
function describe({ watched: _, rows: __, ...masks }: RoleMasks): string {
  return JSON.stringify(masks)
}
