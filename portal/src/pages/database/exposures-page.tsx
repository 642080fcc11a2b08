import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { CircleCheck, RefreshCw, ShieldCheck, TriangleAlert } from 'lucide-react'
import { type ClosedExposure, type Exposure, exposuresQuery } from '../../api/document.ts'
import { t } from '../../texts/index.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/copy.tsx'
import { DateText } from '../../ui/date.tsx'
import { Segments } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { useDatabasePlace } from './use-database.ts'
import './exposures.css'

const route = '/databases/$subscription/$group/$server/$database/exposures'
const order = ['high', 'medium', 'low'] as const
const tones: Readonly<Record<Exposure['severity'], Tone>> = { high: 'bad', medium: 'warn', low: 'neutral' }

/** The ways around the masks that are open, the worst first, each with what closes it. */
export function ExposuresPage() {
  const place = useDatabasePlace()
  const query = useQuery(exposuresQuery(place))
  const { severity = 'all' } = useSearch({ from: route })
  const navigate = useNavigate({ from: route })
  const choose = (next: string) =>
    void navigate({ search: next === 'all' ? {} : { severity: next }, replace: true })
  return (
    <Loaded query={query}>
      {({ value: all, closed }) => {
        if (all.length === 0)
          return (
            <>
              <div className="card">
                <Empty icon={ShieldCheck} title={t.exposures.emptyTitle}>
                  {t.exposures.emptyHint}
                </Empty>
              </div>
              <DoneExposures closed={closed} />
            </>
          )
        const shown = order.flatMap((one) =>
          all.filter((exposure) => exposure.severity === one && (severity === 'all' || severity === one)),
        )
        return (
          <>
            <div className="line spread">
              <Segments
                label={t.exposures.severity}
                value={severity}
                onChange={choose}
                choices={[
                  { value: 'all', label: `${t.exposures.all} ${all.length}` },
                  ...order.map((one) => ({
                    value: one as string,
                    label: `${t.exposures.severities[one]} ${all.filter((exposure) => exposure.severity === one).length}`,
                  })),
                ]}
              />
              <Button tone="ghost" disabled={query.isFetching} onClick={() => void query.refetch()}>
                <RefreshCw size={14} aria-hidden />
                {t.exposures.again}
              </Button>
            </div>
            {shown.length === 0 ? (
              <div className="card">
                <Empty icon={ShieldCheck} title={t.exposures.noneOfSeverity} />
              </div>
            ) : (
              <ul className="stack">
                {shown.map((exposure) => (
                  <li key={keyOf(exposure)}>
                    <ExposureCard exposure={exposure} />
                  </li>
                ))}
              </ul>
            )}
            <DoneExposures closed={closed} />
          </>
        )
      }}
    </Loaded>
  )
}

function keyOf({ code, objects, roles, explanation }: Exposure | ClosedExposure): string {
  return [code, ...objects.map(({ name }) => name), ...roles, explanation].join(' ')
}

/** The ways that an earlier look of any caller found. */
function DoneExposures({ closed }: { readonly closed: readonly ClosedExposure[] }) {
  if (closed.length === 0) return null
  return (
    <Card
      title={t.exposures.done(closed.length)}
      actions={<span className="faint small">{t.exposures.doneHint}</span>}
    >
      <ul className="stack small" aria-label={t.exposures.done(closed.length)}>
        {closed.map((one) => (
          <li key={keyOf(one)} className="exposure-closed">
            <CircleCheck size={14} aria-hidden />
            <div>
              <p className="line">
                {one.objects.map(({ kind, name }) => (
                  <code key={kind + name}>{name}</code>
                ))}
                <span className="faint">{one.code}</span>
              </p>
              <p>{one.explanation}</p>
              {one.roles.length > 0 && (
                <p>
                  <span className="faint">{t.exposures.roles}</span> {one.roles.join(', ')}
                </p>
              )}
            </div>
            <span>
              {t.exposures.doneAt} <DateText at={one.closedDateTime} isRelative />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function ExposureCard({ exposure }: { readonly exposure: Exposure }) {
  const { severity, objects, roles, explanation, remedy, consequences, rule, code } = exposure
  const place = useDatabasePlace()
  return (
    <article className={`card exposure ${severity}`}>
      <div className="line">
        <Badge tone={tones[severity]} hasDot>
          {t.exposures.severities[severity]}
        </Badge>
        {objects.map(({ kind, name }) => (
          <span key={kind + name} className="line">
            <span className="faint small">{kind}</span> <code>{name}</code>
          </span>
        ))}
        <span className="faint small exposure-code">{code}</span>
      </div>
      <p>{explanation}</p>
      <p className="line small">
        <span className="faint">{t.exposures.roles}</span>
        {roles.length === 0 ? t.exposures.everyone : roles.map((role) => <code key={role}>{role}</code>)}
      </p>
      {remedy && (
        <div className="stack tight">
          <h3>{t.exposures.remedy}</h3>
          <CodeBlock label={t.exposures.remedy} text={remedy} />
        </div>
      )}
      {consequences && (
        <div className={consequences.isDangerous ? 'notice warn' : 'notice'}>
          <TriangleAlert size={14} aria-hidden />
          <div className="stack tight">
            <span>
              <strong>{consequences.isDangerous ? t.exposures.dangerous : t.exposures.affects}:</strong>{' '}
              {consequences.affects}
            </span>
            {consequences.alternative && (
              <span>
                <strong>{t.exposures.alternative}:</strong> {consequences.alternative}
              </span>
            )}
            {consequences.undo && (
              <span>
                <strong>{t.exposures.undo}:</strong> {consequences.undo}
              </span>
            )}
          </div>
        </div>
      )}
      {rule && (
        <div className="line">
          <Link
            className="button"
            to="/databases/$subscription/$group/$server/$database/data"
            params={{ ...place }}
            search={{ schema: rule.schemaName, table: rule.tableName, column: rule.columnName }}
          >
            {t.exposures.mask}
          </Link>
        </div>
      )}
    </article>
  )
}
