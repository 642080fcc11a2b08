import { useQuery } from '@tanstack/react-query'
import { Database } from 'lucide-react'
import { databasesQuery, type VisibleDatabase } from '../../api/masking.ts'
import { t } from '../../texts/index.ts'
import { Card, Page } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { DatabasesTable } from '../databases/databases-table.tsx'
import './overview.css'

export function OverviewPage() {
  const query = useQuery(databasesQuery)
  return (
    <Page title={t.overview.title}>
      <Loaded query={query}>
        {(databases) =>
          databases.length === 0 ? (
            <div className="card">
              <Empty icon={Database} title={t.databases.emptyTitle}>
                {t.databases.emptyHint}
              </Empty>
            </div>
          ) : (
            <>
              <Figures databases={databases} />
              <Card title={t.overview.databases} isFlush>
                <DatabasesTable rows={databases} />
              </Card>
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

function Figures({ databases }: { readonly databases: readonly VisibleDatabase[] }) {
  const sum = (read: (database: VisibleDatabase) => number) =>
    databases.reduce((total, database) => total + read(database), 0)
  const isTroubled = ({ properties }: VisibleDatabase) =>
    ['Failed', 'Pending'].includes(properties.enforcement.state)
  const troubled = databases.filter(isTroubled).length
  return (
    <dl className="figures">
      <Figure label={t.overview.databases} value={databases.length} />
      <Figure label={t.overview.maskedColumns} value={sum(({ properties }) => properties.ruleCount)} />
      <Figure label={t.overview.attention} value={troubled} isAlarming={troubled > 0} />
      <Figure label={t.overview.drift} value={sum(({ properties }) => properties.enforcement.driftRepairs)} />
    </dl>
  )
}

function Figure({
  label,
  value,
  isAlarming = false,
}: {
  readonly label: string
  readonly value: number
  readonly isAlarming?: boolean
}) {
  return (
    <div className="card figure">
      <dt>{label}</dt>
      <dd className={isAlarming ? 'number alarming' : 'number'}>{value.toLocaleString()}</dd>
    </div>
  )
}
