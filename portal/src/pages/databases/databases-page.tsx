import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { databasesQuery, type VisibleDatabase } from '../../api/masking.ts'
import { t } from '../../texts/index.ts'
import { SearchField } from '../../ui/field.tsx'
import { Page } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { DatabasesTable } from './databases-table.tsx'
import { QueryableDatabases } from './queryable-databases.tsx'

export function DatabasesPage() {
  const { q = '' } = useSearch({ from: '/databases' })
  const navigate = useNavigate({ from: '/databases' })
  const query = useQuery(databasesQuery)
  const setText = (text: string) => void navigate({ search: text === '' ? {} : { q: text }, replace: true })
  return (
    <Page
      title={t.databases.title}
      description={t.databases.description}
      actions={
        <Link className="button" to="/welcome">
          {t.welcome.bind}
        </Link>
      }
    >
      <Loaded query={query}>
        {(databases) =>
          databases.length === 0 ? (
            <QueryableDatabases isAlone />
          ) : (
            <>
              <SearchField
                label={t.databases.filter}
                value={q}
                onChange={(event) => setText(event.target.value)}
              />
              <DatabasesTable rows={databases.filter((database) => matches(database, q))} />
              <QueryableDatabases />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

function matches({ name, properties }: VisibleDatabase, text: string): boolean {
  const known = `${name} ${properties.serverName} ${properties.gatewayName ?? ''} ${properties.boundTo ?? ''}`
  return known.toLowerCase().includes(text.trim().toLowerCase())
}
