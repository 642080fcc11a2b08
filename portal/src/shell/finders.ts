import { type FoundColumn, findColumns } from '../api/catalog.ts'
import { directoryPath, type Listed, type Named, objectQuery, searchFor } from '../api/directory.ts'
import { documentQuery } from '../api/document.ts'
import { databasesQuery, placeOf, type VisibleDatabase } from '../api/masking.ts'
import { queryClient } from '../api/query-client.ts'
import { readKeptPerson } from '../session/kept.ts'
import { t } from '../texts/index.ts'
import { addFinder, type Entry } from './palette-entries.ts'

const shown = 8
/** Each is asked for its columns: of many databases, the first ones. */
const searchedDatabases = 5

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

const directoryReads = ['Directory.Read.All', 'Directory.ReadWrite.All']

addFinder(async (text) =>
  directoryReads.some((name) => readKeptPerson()?.permissions.has(name))
    ? (await findNamed('groups', text, 'displayName')).map((group) => ({
        key: group.id,
        group: t.shell.groups,
        label: group.displayName ?? t.directory.unnamed,
        hint: t.directory.kinds.group,
        link: { to: '/groups/$id', params: { id: group.id } },
      }))
    : [],
)

/** Tables and columns of bound databases, and the rules of columns. */
addFinder(async (text, signal) => {
  const databases = await queryClient.ensureQueryData(databasesQuery)
  const bound = databases.filter(({ properties }) => properties.boundTo !== null).slice(0, searchedDatabases)
  const found = await Promise.all(
    bound.map(async (database) =>
      describeFound(database, text, await findColumns(placeOf(database), text, signal)),
    ),
  )
  return found.flat()
})

function describeFound(
  database: VisibleDatabase,
  text: string,
  columns: readonly FoundColumn[],
): readonly Entry[] {
  const params = { ...placeOf(database) }
  const wanted = text.toLowerCase()
  const tables = new Map(
    columns
      .map(({ schemaName, tableName }) => ({ schemaName, tableName, label: `${schemaName}.${tableName}` }))
      .filter(({ label }) => label.toLowerCase().includes(wanted))
      .map((table) => [table.label, table]),
  )
  const page = '/databases/$subscription/$group/$server/$database/data' as const
  return [
    ...[...tables.values()].slice(0, shown).map(({ schemaName, tableName, label }) => ({
      key: `${database.id} table ${label}`,
      group: t.shell.tables,
      label,
      hint: t.shell.tableOf(database.name),
      link: { to: page, params, search: { schema: schemaName, table: tableName } },
    })),
    ...columns.slice(0, shown).map(({ schemaName, tableName, columnName, ruleName }) => ({
      key: `${database.id} column ${schemaName}.${tableName}.${columnName}`,
      group: t.shell.columns,
      label: `${tableName}.${columnName}`,
      hint: ruleName === null ? t.shell.columnOf(database.name) : t.shell.maskedColumnOf(database.name),
      link: { to: page, params, search: { schema: schemaName, table: tableName, column: columnName } },
    })),
  ]
}

/** Rules by their own name. */
addFinder(async (text) => {
  const wanted = text.toLowerCase()
  const databases = await queryClient.ensureQueryData(databasesQuery)
  const ruled = databases.filter(({ properties }) => properties.ruleCount > 0).slice(0, searchedDatabases)
  const found = await Promise.all(
    ruled.map(async (database) => {
      const { properties } = await queryClient.ensureQueryData(documentQuery(placeOf(database)))
      return properties.rules
        .filter(({ name }) => name.toLowerCase().includes(wanted))
        .slice(0, shown)
        .map(({ name }) => ({
          key: `${database.id} rule ${name}`,
          group: t.shell.rules,
          label: name,
          hint: t.shell.ruleOf(database.name),
          link: {
            to: '/databases/$subscription/$group/$server/$database/rules' as const,
            params: { ...placeOf(database) },
            search: { q: name },
          },
        }))
    }),
  )
  return found.flat()
})
