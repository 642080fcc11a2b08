import { foldDisplayName } from '../kernel/fold-display-name.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { pathPrefix } from '../kernel/surface.ts'
import { trimDisplayName } from '../kernel/trim-display-name.ts'
import { isUuid } from '../kernel/uuid.ts'
import { type Api, listAll, nextOf, type Page, Refused } from './api.ts'
import { exitCodes } from './exit-codes.ts'

const { directory } = pathPrefix

/** A user, group or application of the directory. */
export interface Principal {
  readonly id: string
  /** The display name; undefined where the caller may not read the directory. */
  readonly name?: string
}

/** An object as the directory API shows it. */
export interface Entry {
  readonly '@odata.type'?: string
  readonly id: string
  readonly appId?: string
  readonly displayName?: string | null
  readonly userPrincipalName?: string
  readonly description?: string | null
}

export const principalHelp = `PRINCIPAL is a user by userPrincipalName, a group by its name if only one has it, an
application by its appId, and any of them by its object id.`

/**
 * Finds a user by userPrincipalName, a group by a unique display name, an application by its appId, and each by object
 * id. A name with an `@` is never a group's: a person who may create groups could name one like a user.
 */
export async function findPrincipal(api: Api, sent: string): Promise<Principal> {
  const text = trimDisplayName(sent)
  if (isUuid(text)) return findById(api, text.toLowerCase())
  return text.includes('@') ? findUser(api, text) : findGroup(api, text)
}

/** A user by userPrincipalName or object id. */
export async function findUser(api: Api, name: string): Promise<Principal> {
  const user = await read<Entry>(api, `${directory}/users/${encodeURIComponent(name)}`, name)
  return user ? { id: user.id, name, ...nameOf(user) } : refuseMissing(`There is no user '${clip(name)}'.`)
}

/** A group by a unique display name or object id. */
export async function findGroup(api: Api, sent: string): Promise<Principal> {
  const name = trimDisplayName(sent)
  if (isUuid(name)) {
    const group = await read<Entry>(api, `${directory}/groups/${name}`, name)
    return group ? { id: group.id, name, ...nameOf(group) } : refuseMissing(`There is no group '${name}'.`)
  }
  const [group, ...others] = await findGroupsNamed(api, name)
  if (!group)
    return refuseMissing(
      `There is no group '${clip(name)}'. Groups are named by displayName or id, users by userPrincipalName, applications by id.`,
    )
  if (others.length === 0) return { id: group.id, name, ...nameOf(group) }
  const choices = [group, ...others].map(
    ({ id, description }) => `  ${id}${description ? `  ${plain(description)}` : ''}`,
  )
  throw new OperatorError(
    `Several groups are called '${clip(name)}'. Name one by its id:\n${choices.join('\n')}`,
  )
}

/**
 * The groups that have a name by the one folding, among all groups: a filter folds by the locale of the store. It would leave out the
 * group that is meant and find a namesake, which any person may create.
 */
async function findGroupsNamed(api: Api, name: string): Promise<readonly Entry[]> {
  const wanted = foldDisplayName(name)
  const found: Entry[] = []
  let next: string | undefined = `${directory}/groups?$top=999&$select=id,displayName,description`
  while (next !== undefined) {
    const page: Page<Entry> | undefined = await read<Page<Entry>>(api, next, name)
    if (!page) throw new OperatorError('The service does not list its groups. Name the group by its id.')
    found.push(...page.value.filter(({ displayName }) => foldDisplayName(displayName ?? '') === wanted))
    next = nextOf(page)
  }
  return found
}

/** As a text stands in `$filter`. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Takes an appId, the object id of a registration, or a principal's own id. The service checks the last. */
async function findById(api: Api, id: string): Promise<Principal> {
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
export async function nameAll(api: Api, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>()
  const wanted = [...new Set(ids)].filter(isUuid)
  try {
    for (let at = 0; at < wanted.length; at += 1000) {
      const path = `${directory}/directoryObjects/getByIds`
      const { body } = await api.send<{ value: Entry[] }>('POST', path, { ids: wanted.slice(at, at + 1000) })
      for (const entry of body.value) names.set(entry.id, nameOf(entry).name ?? entry.id)
    }
    return names
  } catch (error) {
    if (error instanceof Refused) return new Map()
    throw error
  }
}

/** The objects of a relation, such as the members of a group, with the names that people know them by. */
export async function listRelated(api: Api, path: string, limit?: number): Promise<Entry[]> {
  return listAll<Entry>(api, `${directory}${path}`, limit)
}

/** The kind of an object in the words of the command line. */
export function kindOf({ '@odata.type': type = '' }: Entry): string {
  const kind = type.split('.').at(-1) ?? ''
  return { servicePrincipal: 'application', directoryRole: 'role' }[kind] ?? kind
}

export function nameOf({ userPrincipalName, displayName }: Entry): { name?: string } {
  const name = userPrincipalName ?? displayName
  return name ? { name: plain(name) } : {}
}

/** Others chose it: nothing in it reaches the terminal as a command to it, or the name of a mapping. */
function plain(text: string): string {
  return text.replaceAll(/\p{C}/gu, '·')
}

/** Undefined: there is none. */
async function read<T>(api: Api, path: string, name: string): Promise<T | undefined> {
  try {
    return (await api.send<T>('GET', path)).body
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    // A name that no user can have is one that no user has.
    if (error.status === 404 || error.status === 400) return undefined
    if (error.status === 403)
      throw new OperatorError(
        `You may not look '${clip(name)}' up in the directory. Name the user, group or application by its id.`,
        { exitCode: exitCodes.denied },
      )
    throw error
  }
}

function clip(text: string): string {
  return text.slice(0, 200)
}

function refuseMissing(reason: string): never {
  throw new OperatorError(reason, { exitCode: exitCodes.notFound })
}
