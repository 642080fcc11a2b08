import { useQuery } from '@tanstack/react-query'
import { Outlet } from '@tanstack/react-router'
import { documentQuery, exposuresQuery } from '../../api/document.ts'
import { t } from '../../texts/index.ts'
import { Page, Tabs } from '../../ui/page.tsx'
import { FaultView } from '../../ui/states.tsx'
import { StateBadge } from '../databases/state-badge.tsx'
import { useDatabasePlace, useVisibleDatabase } from './use-database.ts'

const base = '/databases/$subscription/$group/$server/$database'

/** The frame of every page about one database. */
export function DatabaseLayout() {
  const place = useDatabasePlace()
  const shown = useVisibleDatabase()
  const document = useQuery(documentQuery(place))
  const exposures = useQuery(exposuresQuery(place))
  const params = { ...place }
  const state = shown?.properties.enforcement
  return (
    <Page
      title={place.database}
      crumbs={[{ label: t.databases.title, link: { to: '/databases' } }]}
      beside={
        state && (
          <>
            <StateBadge state={state.state} />
            {shown.properties.boundTo && <code className="faint small">{shown.properties.boundTo}</code>}
          </>
        )
      }
      description={state?.reason ?? undefined}
      tabs={
        <Tabs
          label={t.database.tabs}
          items={[
            { label: t.database.data, link: { to: `${base}/data`, params } },
            {
              label: t.database.rules,
              link: { to: `${base}/rules`, params },
              count: document.data?.properties.rules.length,
            },
            {
              label: t.database.exposures,
              link: { to: `${base}/exposures`, params },
              count: exposures.data?.length,
            },
          ]}
        />
      }
    >
      {document.error ? (
        <FaultView error={document.error} onRetry={() => void document.refetch()} />
      ) : (
        <Outlet />
      )}
    </Page>
  )
}
