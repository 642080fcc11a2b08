import { databasesQuery, placeOf } from '../api/masking.ts'
import { queryClient } from '../api/query-client.ts'
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
