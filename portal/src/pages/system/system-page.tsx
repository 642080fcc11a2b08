import { useQuery } from '@tanstack/react-query'
import { Lock } from 'lucide-react'
import type { ReactNode } from 'react'
import { allows, permissionsQuery } from '../../api/masking.ts'
import {
  type ServiceDescription,
  type ServiceNode,
  type Setting,
  type SigningKey,
  serviceQuery,
} from '../../api/system.ts'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { DateText } from '../../ui/date.tsx'
import { Card, Page } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import '../../directory/directory.css'
import './system.css'

export function SystemPage() {
  const permissions = useQuery(permissionsQuery(''))
  return (
    <Page title={t.system.title} description={t.system.description}>
      <Loaded query={permissions}>
        {(held) =>
          allows(held, 'Vendor.Sql/service/read') ? (
            <Described />
          ) : (
            <div className="card">
              <Empty icon={Lock} title={t.states.forbiddenTitle}>
                {t.system.needs}
              </Empty>
            </div>
          )
        }
      </Loaded>
    </Page>
  )
}

function Described() {
  const query = useQuery(serviceQuery)
  return (
    <Loaded query={query}>
      {(service) => (
        <>
          <Facts service={service} />
          <Card title={t.system.nodes} isFlush>
            <DataTable
              label={t.system.nodes}
              columns={nodeColumns}
              rows={service.nodes}
              keyOf={({ id }) => id}
            />
          </Card>
          <Card title={t.system.keys} isFlush>
            <DataTable
              label={t.system.keys}
              columns={keyColumns}
              rows={service.signingKeys}
              keyOf={({ kid }) => kid}
            />
          </Card>
          <Card title={t.system.settings} isFlush>
            <DataTable
              label={t.system.settings}
              columns={settingColumns}
              rows={service.settings}
              keyOf={({ name }) => name}
            />
          </Card>
        </>
      )}
    </Loaded>
  )
}

function Facts({ service: { version, node, store, certificate } }: { readonly service: ServiceDescription }) {
  return (
    <div className="system-facts">
      <Card title={t.system.node}>
        <FactList
          facts={[
            [t.system.version, version],
            [t.system.host, <code key="host">{node.hostName}</code>],
            [t.system.runtime, `Node.js ${node.runtime}`],
            [t.system.started, <DateText key="started" at={node.startedAt} isRelative />],
          ]}
        />
      </Card>
      <Card title={t.system.store}>
        <FactList
          facts={[
            [t.system.state, <StoreState key="state" state={store.state} />],
            [t.directory.kind, t.system.storeKinds[store.kind]],
            [t.system.version, store.version],
          ]}
        />
      </Card>
      <Card title={t.system.certificate}>
        <FactList
          facts={[
            [t.system.certificateSource, t.system.sources[certificate.source]],
            [t.system.ends, <DateText key="ends" at={certificate.expiresAt} isDay />],
          ]}
        />
      </Card>
    </div>
  )
}

function FactList({ facts }: { readonly facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([label, value]) => (
        <div className="fact" key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function StoreState({ state }: { readonly state: ServiceDescription['store']['state'] }) {
  return (
    <Badge tone={state === 'ready' ? 'good' : 'bad'} hasDot>
      {t.system.states[state]}
    </Badge>
  )
}

const nodeColumns: readonly Column<ServiceNode>[] = [
  {
    key: 'host',
    header: t.system.host,
    cell: ({ hostName, answers }) => (
      <span className="line">
        <code>{hostName}</code>
        {answers && <Badge tone="accent">{t.system.answers}</Badge>}
      </span>
    ),
  },
  { key: 'version', header: t.system.version, cell: ({ version }) => version },
  {
    key: 'started',
    header: t.system.started,
    cell: ({ startedAt }) => <DateText at={startedAt} isRelative />,
  },
  { key: 'seen', header: t.system.seen, cell: ({ seenAt }) => <DateText at={seenAt} isRelative /> },
  {
    key: 'sessions',
    header: t.system.sessions,
    isEnd: true,
    cell: ({ gatewaySessions }) => <span className="number">{gatewaySessions}</span>,
  },
]

const keyColumns: readonly Column<SigningKey>[] = [
  { key: 'kid', header: t.system.key, cell: ({ kid }) => <code>{kid}</code> },
  {
    key: 'state',
    header: t.system.state,
    cell: ({ signsNow, activeFrom }) =>
      signsNow ? (
        <Badge tone="good">{t.system.signsNow}</Badge>
      ) : (
        <Badge>{Date.parse(activeFrom) > Date.now() ? t.system.next : t.system.retired}</Badge>
      ),
  },
  { key: 'from', header: t.system.from, cell: ({ activeFrom }) => <DateText at={activeFrom} /> },
  {
    key: 'until',
    header: t.system.until,
    cell: ({ expiresAt }) =>
      expiresAt ? <DateText at={expiresAt} /> : <span className="quiet">{t.system.openEnd}</span>,
  },
]

const settingColumns: readonly Column<Setting>[] = [
  { key: 'name', header: t.system.setting, cell: ({ name }) => <code>{name}</code> },
  {
    key: 'value',
    header: t.system.value,
    cell: ({ value }) =>
      value === null || value === '' ? (
        <span className="faint">{t.system.hidden}</span>
      ) : (
        <code>{value}</code>
      ),
  },
  {
    key: 'origin',
    header: t.system.origin,
    cell: ({ origin }) => (
      <Badge tone={origin === 'environment' ? 'accent' : 'neutral'}>{t.system.origins[origin]}</Badge>
    ),
  },
  {
    key: 'meaning',
    header: t.system.meaning,
    wraps: true,
    cell: ({ description }) => <span className="quiet">{description}</span>,
  },
]
