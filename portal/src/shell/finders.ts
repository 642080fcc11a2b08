import { directoryPath, type Listed, type Named, objectQuery, searchFor } from '../api/directory.ts'
import { databasesQuery, placeOf } from '../api/masking.ts'
import { queryClient } from '../api/query-client.ts'
import { holdsPermission } from '../session/session.ts'
import { t } from '../texts/index.ts'
import { addFinder } from './palette-entries.ts'

const shown = 8

addFinder(async (text) => {
  const wanted = text.toLowerCase()
  const databases = await queryClient.ensureQueryData(databasesQuery)
  return databases
    .filter(({ name, properties }) => `${name} ${properties.serverName}`.toLowerCase().includes(wanted))
    .slice(0, shown)
    .map((database) => ({
      key: database.id,
      group: t.shell.databases,
      label: database.name,
      hint: database.properties.serverName,
      link: {
        to: '/databases/$subscription/$group/$server/$database/data',
        params: { ...placeOf(database) },
      },
    }))
})

async function findNamed(set: 'users' | 'groups', text: string, ...properties: readonly string[]) {
  const path = directoryPath(`/${set}`, {
    $top: String(shown),
    $select: set === 'users' ? 'id,displayName,userPrincipalName' : 'id,displayName,description',
    $search: searchFor(text, ...properties),
  })
  return (await queryClient.fetchQuery(objectQuery<Listed<Named>>(path))).value
}

addFinder(async (text) =>
  (await findNamed('users', text, 'displayName', 'userPrincipalName')).map((user) => ({
    key: user.id,
    group: t.shell.people,
    label: user.displayName ?? t.directory.unnamed,
    hint: user.userPrincipalName ?? t.shell.people,
    link: { to: '/people/$id', params: { id: user.id } },
  })),
)

addFinder(async (text) =>
  holdsPermission('Directory.Read.All', 'Directory.ReadWrite.All')
    ? (await findNamed('groups', text, 'displayName')).map((group) => ({
        key: group.id,
        group: t.shell.groups,
        label: group.displayName ?? t.directory.unnamed,
        hint: t.directory.kinds.group,
        link: { to: '/groups/$id', params: { id: group.id } },
      }))
    : [],
)
