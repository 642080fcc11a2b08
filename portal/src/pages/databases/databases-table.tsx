import { Link } from '@tanstack/react-router'
import { placeOf, type VisibleDatabase } from '../../api/masking.ts'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { DateText } from '../../ui/date.tsx'
import { Empty } from '../../ui/states.tsx'
import { StateBadge } from './state-badge.tsx'

const columns: readonly Column<VisibleDatabase>[] = [
  {
    key: 'name',
    header: t.databases.name,
    cell: (database) => (
      <Link
        className="row-link"
        to="/databases/$subscription/$group/$server/$database/data"
        params={{ ...placeOf(database) }}
      >
        {database.name}
      </Link>
    ),
  },
  {
    key: 'state',
    header: t.databases.state,
    cell: ({ properties }) => <StateBadge state={properties.enforcement.state} />,
    width: '120px',
  },
  {
    key: 'rules',
    header: t.databases.rules,
    isEnd: true,
    cell: ({ properties }) => <span className="number">{properties.ruleCount}</span>,
    width: '130px',
  },
  {
    key: 'open',
    header: t.containment.short,
    isEnd: true,
    cell: ({ properties: { rolesNotContained } }) =>
      rolesNotContained > 0 ? (
        <Badge tone="warn">{rolesNotContained}</Badge>
      ) : (
        <span className="number">0</span>
      ),
    width: '130px',
  },
  { key: 'server', header: t.databases.server, cell: ({ properties }) => properties.serverName },
  {
    key: 'bound',
    header: t.databases.boundTo,
    cell: ({ properties }) =>
      properties.boundTo ? (
        <code className="quiet">{properties.boundTo}</code>
      ) : (
        <span className="faint">{t.databases.notBound}</span>
      ),
  },
  {
    key: 'since',
    header: t.databases.since,
    cell: ({ properties }) => <DateText at={properties.enforcement.since} isRelative />,
  },
]

export function DatabasesTable({ rows }: { readonly rows: readonly VisibleDatabase[] }) {
  return (
    <DataTable
      label={t.databases.title}
      columns={columns}
      rows={rows}
      keyOf={({ id }) => id}
      empty={<Empty title={t.databases.noMatch}>{t.databases.noMatchHint}</Empty>}
    />
  )
}
