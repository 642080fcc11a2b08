import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Database, Play } from 'lucide-react'
import { placeOf, type QueryableDatabase, queryableQuery } from '../../api/masking.ts'
import { t } from '../../texts/index.ts'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Card } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Connect } from './connect.tsx'

const queryPage = '/databases/$subscription/$group/$server/$database/query'

const columns: readonly Column<QueryableDatabase>[] = [
  {
    key: 'name',
    header: t.databases.name,
    cell: (database) => (
      <Link className="row-link" to={queryPage} params={{ ...placeOf(database) }}>
        <span className="quiet">{database.properties.serverName} / </span>
        {database.name}
      </Link>
    ),
  },
  {
    key: 'roles',
    header: t.databases.yourRole,
    cell: ({ properties }) => <code>{properties.databaseRoles.join(', ')}</code>,
  },
  {
    key: 'query',
    header: <span className="visually-hidden">{t.database.query}</span>,
    isEnd: true,
    cell: (database) => (
      <Link className="button small" to={queryPage} params={{ ...placeOf(database) }}>
        <Play size={13} aria-hidden />
        {t.database.query}
      </Link>
    ),
  },
]

/** The databases that the person may query as themselves. Without any, it draws nothing beside other databases. */
export function QueryableDatabases({ isAlone = false }: { readonly isAlone?: boolean }) {
  const query = useQuery(queryableQuery)
  if (!isAlone && !query.data?.length) return null
  return (
    <Loaded query={query}>
      {(databases) =>
        databases.length === 0 ? (
          <div className="card">
            <Empty icon={Database} title={t.databases.emptyTitle}>
              {t.databases.emptyHint} {t.databases.emptyQueryHint}
            </Empty>
          </div>
        ) : (
          <>
            <Card title={t.databases.queryable} isFlush>
              <DataTable
                label={t.databases.queryable}
                columns={columns}
                rows={databases}
                keyOf={({ id }) => id}
              />
            </Card>
            <Connect databases={databases} />
          </>
        )
      }
    </Loaded>
  )
}
