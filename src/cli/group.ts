import { pathPrefix } from '../kernel/surface.ts'
import { type Api, apiHelp, openApi, Refused } from './api.ts'
import { commandOf, type ValuesOf, type Verb } from './command.ts'
import {
  findAll,
  objectHelp,
  objectOptions,
  objectVerbs,
  readLimit,
  readProperties,
  type Shown,
} from './directory-objects.ts'
import { findGroup, kindOf, listRelated, nameOf, principalHelp } from './principals.ts'
import { report } from './surroundings.ts'
import { renderTable } from './table.ts'

const options = {
  ...objectOptions,
  description: { type: 'string' },
  nickname: { type: 'string' },
  'for-roles': { type: 'boolean' },
  all: { type: 'boolean' },
} as const

type Values = ValuesOf<typeof options>

const groups = `${pathPrefix.directory}/groups`
const { list, show, set, remove, restore } = objectVerbs({
  noun: 'group',
  set: 'groups',
  columns: ['displayName', 'description', 'id'],
  names: ['displayName'],
  find: findGroup,
  read: readGroup,
})

export const group = commandOf({
  name: 'group',
  summary: 'List, add, change and remove groups, their members and owners',
  help: `
Usage: masquerade group list [--search TEXT] [--limit N]
       masquerade group show GROUP
       masquerade group add NAME [--description TEXT] [--nickname NAME] [--for-roles] [--set …]
       masquerade group set GROUP --set NAME=VALUE …
       masquerade group remove GROUP
       masquerade group restore ID
       masquerade group members list GROUP [--all]
       masquerade group members add GROUP PRINCIPAL …
       masquerade group members remove GROUP PRINCIPAL …
       masquerade group owners list GROUP
       masquerade group owners add GROUP PRINCIPAL …
       masquerade group owners remove GROUP PRINCIPAL …

GROUP is the name of a group if only one has it, or an object id. ${principalHelp}
Adding a member that is there already, and removing one that is not, changes nothing.

  --all            Members of the groups in the group as well, at any depth.
  --for-roles      The group can be given directory roles; this cannot be changed later.
${objectHelp}
${apiHelp}`,
  options,
  verbs: {
    list,
    show,
    add: { takes: ['NAME'], run: add },
    set,
    remove,
    restore,
    ...relationVerbs('members', 'member'),
    ...relationVerbs('owners', 'owner'),
  },
})

async function readGroup(api: Api, id: string): Promise<Shown> {
  const { body } = await api.send<Shown>('GET', `${groups}/${id}`)
  const namesOf = async (relation: string) =>
    (await listRelated(api, `/groups/${id}/${relation}?$top=100`, 100)).map(
      (one) => nameOf(one).name ?? one.id,
    )
  return { ...body, owners: await namesOf('owners'), members: await namesOf('members') }
}

async function add(values: Values, displayName: string): Promise<number> {
  const api = await openApi(values)
  const nickname = displayName.replaceAll(/[^A-Za-z0-9._-]/g, '').slice(0, 64)
  const { body } = await api.send<Shown>('POST', groups, {
    displayName,
    mailEnabled: false,
    mailNickname: values.nickname ?? (nickname || 'group'),
    securityEnabled: true,
    ...(values.description !== undefined && { description: values.description }),
    ...(values['for-roles'] && { isAssignableToRole: true }),
    ...readProperties('group', values.set),
  })
  report(values, body, `${displayName} is added (${body.id}).\n`)
  return 0
}

/** Lists, adds and removes the objects of a relation of groups. */
function relationVerbs(relation: 'members' | 'owners', noun: string): Record<string, Verb<typeof options>> {
  return {
    [`${relation} list`]: {
      takes: ['GROUP'],
      async run(values, name) {
        const api = await openApi(values)
        const { id } = await findGroup(api, name)
        const path = values.all && relation === 'members' ? 'transitiveMembers' : relation
        const found = await listRelated(
          api,
          `/groups/${id}/${path}?$top=999`,
          readLimit('group', values.limit),
        )
        const rows = found.map((one) => [nameOf(one).name ?? '', kindOf(one), one.id])
        report(values, found, renderTable(['name', 'kind', 'id'], rows, `${name} has no ${relation}.`))
        return 0
      },
    },
    [`${relation} add`]: changeVerb(relation, noun, true),
    [`${relation} remove`]: changeVerb(relation, noun, false),
  }
}

function changeVerb(relation: string, noun: string, isAddition: boolean): Verb<typeof options> {
  return {
    takes: ['GROUP', 'PRINCIPAL…'],
    async run(values, name, ...principals) {
      const api = await openApi(values)
      const { id } = await findGroup(api, name)
      const changed = []
      for (const { id: principalId, name: called = principalId } of await findAll(api, principals)) {
        const isChanged = isAddition
          ? await addReference(api, `${groups}/${id}/${relation}`, principalId)
          : await removeReference(api, `${groups}/${id}/${relation}`, principalId)
        changed.push({ id: principalId, name: called, changed: isChanged })
      }
      report(values, changed, changed.map((one) => `${describe(one, noun, name, isAddition)}\n`).join(''))
      return 0
    },
  }
}

function describe(
  { name, changed }: { name: string; changed: boolean },
  noun: string,
  group: string,
  isAddition: boolean,
): string {
  const now = isAddition ? 'is now' : 'is no longer'
  const before = isAddition ? 'was already' : 'was not'
  return `${name} ${changed ? now : before} ${noun === 'owner' ? 'an owner' : 'a member'} of ${group}.`
}

/** False: it was there. */
async function addReference(api: Api, path: string, id: string): Promise<boolean> {
  try {
    const reference = `https://localhost${pathPrefix.directory}/directoryObjects/${id}`
    await api.send('POST', `${path}/$ref`, { '@odata.id': reference })
    return true
  } catch (error) {
    if (error instanceof Refused && error.status === 400 && /already exist/i.test(error.message)) return false
    throw error
  }
}

/** False: it was not there. */
async function removeReference(api: Api, path: string, id: string): Promise<boolean> {
  try {
    await api.send('DELETE', `${path}/${id}/$ref`)
    return true
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return false
    throw error
  }
}
