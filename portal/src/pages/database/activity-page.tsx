import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { type EnforcementReport, enforcementQuery } from '../../api/access.ts'
import { t } from '../../texts/index.ts'
import { DateText } from '../../ui/date.tsx'
import { Card } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { StateBadge } from '../databases/state-badge.tsx'
import { ActivityEvents } from './activity-events.tsx'
import { useDatabasePlace, useRights } from './use-database.ts'
import './activity.css'

/** The actions of the service in the database, and the roles that touched masked data. */
export function ActivityPage() {
  const { mayReadAudit } = useRights()
  const query = useQuery(enforcementQuery(useDatabasePlace()))
  return (
    <>
      <Card title={t.activity.state}>
        <Loaded query={query}>{(report) => <Report report={report} />}</Loaded>
      </Card>
      {mayReadAudit ? <ActivityEvents /> : <p className="quiet">{t.activity.noRight}</p>}
    </>
  )
}

function Report({ report }: { readonly report: EnforcementReport }) {
  return (
    <div className="stack">
      <dl className="facts across">
        <Fact name={t.databases.state}>
          <StateBadge state={report.state} /> {report.reason}
        </Fact>
        <Fact name={t.activity.since}>
          <DateText at={report.since} />
        </Fact>
        <Fact name={t.activity.checked}>
          <DateText at={report.checkedAt} isRelative />
        </Fact>
        <Fact name={t.activity.drift}>
          {report.driftRepairs}
          {report.lastDriftAt && (
            <>
              {' · '}
              <DateText at={report.lastDriftAt} isRelative />
            </>
          )}
        </Fact>
      </dl>
      {report.notes.length > 0 && (
        <ul className="stack tight small notes" aria-label={t.activity.notes}>
          {report.notes.map(({ code, target, message }) => (
            <li key={code + target}>
              <code>{target}</code> {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
