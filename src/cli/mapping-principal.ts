import { OperatorError } from '../kernel/operator-error.ts'
import { pathPrefix } from '../kernel/surface.ts'
import { isUuid } from '../kernel/uuid.ts'
import { type MaskingApi, Refused } from './masking-api.ts'

const { directory } = pathPrefix

/** A user, group or application of the directory, to which a role can be mapped. */
export interface Principal {
  readonly id: string
  /** The display name; undefined where the caller may not read the directory. */
  readonly name?: string
}

interface Entry {
  readonly '@odata.type'?: string
  readonly id: string
  readonly appId?: string
  readonly displayName?: string | null
  readonly userPrincipalName?: string
  readonly description?: string | null
}

/**
 * Finds a user by userPrincipalName, a group by a unique display name, an application by its appId, and each by object
 * id. A name with an `@` is never a group's: a person who may create groups could name one like a user.
 */
export async function findPrincipal(api: MaskingApi, text: string): Promise<Principal> {
  if (isUuid(text)) return findById(api, text.toLowerCase())
  return text.includes('@') ? findUser(api, text) : findGroup(api, text)
}

async function findUser(api: MaskingApi, name: string): Promise<Principal> {
  const user = await read<Entry>(api, `${directory}/users/${encodeURIComponent(name)}`, name)
  return user ? { id: user.id, name, ...nameOf(user) } : refuse(`There is no user '${name.slice(0, 200)}'.`)
}

async function findGroup(api: MaskingApi, name: string): Promise<Principal> {
  const filter = encodeURIComponent(`displayName eq '${name.replaceAll("'", "''")}'`)
  const page = await read<{ value: Entry[] }>(
    api,
    `${directory}/groups?$filter=${filter}&$select=id,displayName,description`,
    name,
  )
  const [group, ...others] = page?.value ?? []
  if (!group)
    return refuse(
      `There is no group '${name.slice(0, 200)}'. Name a user by userPrincipalName, an application by its id.`,
    )
  if (others.length === 0) return { id: group.id, name, ...nameOf(group) }
  const choices = [group, ...others].map(
    ({ id, description }) => `  ${id}${description ? `  ${plain(description)}` : ''}`,
  )
  return refuse(
    `Several groups are called '${name.slice(0, 200)}'. Name one by its id:\n${choices.join('\n')}`,
  )
}

/** Takes an appId, the object id of a registration, or a principal's own id. The service checks the last. */
async function findById(api: MaskingApi, id: string): Promise<Principal> {
  try {
    const byAppId = `${directory}/servicePrincipals(appId='${id}')`
    const found =
      (await read<Entry>(api, byAppId, id)) ??
      (await read<Entry>(api, `${directory}/directoryObjects/${id}`, id))
    if (found?.['@odata.type']?.endsWith('.application') && found.appId)
      return findById(api, found.appId.toLowerCase())
    return found ? { id: found.id, ...nameOf(found) } : { id }
  } catch (error) {
    if (error instanceof OperatorError) return { id }
    throw error
  }
}

/** Display names by id, as far as the directory tells. */
export async function nameAll(api: MaskingApi, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  try {
    const names = new Map<string, string>()
    for (let at = 0; at < ids.length; at += 1000) {
      const wanted = { ids: ids.slice(at, at + 1000) }
      const { body } = await api.send<{ value: Entry[] }>(
        'POST',
        `${directory}/directoryObjects/getByIds`,
        wanted,
      )
      for (const entry of body.value) names.set(entry.id, nameOf(entry).name ?? entry.id)
    }
    return names
  } catch (error) {
    if (error instanceof Refused) return new Map()
    throw error
  }
}

function nameOf({ userPrincipalName, displayName }: Entry): { name?: string } {
  const name = userPrincipalName ?? displayName
  return name ? { name: plain(name) } : {}
}

/** Others chose it: nothing in it reaches the terminal as a command to it, or the name of a mapping. */
function plain(text: string): string {
  return text.replaceAll(/\p{C}/gu, '·')
}

/** Undefined: there is none. */
async function read<T>(api: MaskingApi, path: string, name: string): Promise<T | undefined> {
  try {
    return (await api.send<T>('GET', path)).body
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    if (error.status === 404) return undefined
    if (error.status === 403)
      return refuse(
        `You may not look '${name.slice(0, 200)}' up in the directory. Name the user, group or application by its id.`,
      )
    throw error
  }
}

function refuse(reason: string): never {
  throw new OperatorError(reason)
}
