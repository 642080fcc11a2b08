import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { Lock } from 'lucide-react'
import { documentQuery, exposuresQuery } from '../../api/document.ts'
import { t } from '../../texts/index.ts'
import { Page, Tabs } from '../../ui/page.tsx'
import { Empty, Skeleton } from '../../ui/states.tsx'
import { StateBadge } from '../databases/state-badge.tsx'
import { useDatabasePlace, useRights, useVisibleDatabase } from './use-database.ts'

const base = '/databases/$subscription/$group/$server/$database'

/** The frame of every page about one database. People without a masking role may still query it as themselves. */
export function DatabaseLayout() {
  const place = useDatabasePlace()
  const shown = useVisibleDatabase()
  const { mayRead, isKnown } = useRights()
  const isQuery = useRouterState({ select: ({ location }) => location.pathname.endsWith('/query') })
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
      tabs={<DatabaseTabs mayRead={mayRead} />}
    >
      {mayRead || isQuery ? <Outlet /> : isKnown ? <NoRole /> : <Skeleton lines={8} />}
    </Page>
  )
}

function DatabaseTabs({ mayRead }: { readonly mayRead: boolean }) {
  const place = useDatabasePlace()
  const document = useQuery({ ...documentQuery(place), enabled: mayRead })
  const exposures = useQuery({ ...exposuresQuery(place), enabled: mayRead })
  const params = { ...place }
  const tab = (name: 'data' | 'rules' | 'exposures' | 'people' | 'activity' | 'query', count?: number) => ({
    label: t.database[name],
    link: { to: `${base}/${name}`, params } as const,
    count,
  })
  const reading = [
    tab('data'),
    tab('rules', document.data?.properties.rules.length),
    tab('exposures', exposures.data?.value.length),
    tab('people'),
    tab('activity'),
  ]
  return <Tabs label={t.database.tabs} items={[...(mayRead ? reading : []), tab('query')]} />
}

function NoRole() {
  const place = useDatabasePlace()
  return (
    <div className="card">
      <Empty
        icon={Lock}
        title={t.states.forbiddenTitle}
        actions={
          <Link className="button" to={`${base}/query`} params={{ ...place }}>
            {t.database.toQuery}
          </Link>
        }
      >
        {t.states.forbiddenMasking}
      </Empty>
    </div>
  )
}
