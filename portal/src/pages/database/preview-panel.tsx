import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { TriangleAlert } from 'lucide-react'
import { useEffect, useState } from 'react'
import { type Draft, previewQuery, type TablePlace } from '../../api/catalog.ts'
import { useReads } from '../../session/readable.tsx'
import { t } from '../../texts/index.ts'
import { Segments } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { Empty, FaultView, Skeleton } from '../../ui/states.tsx'
import { SightLine, useSight } from './as-person.tsx'
import { RoleLine, seeAsRole, useRoleSight } from './as-role.tsx'
import { ExemptMyself } from './exempt-myself.tsx'
import { type Eyes, PreviewRows } from './preview-rows.tsx'
import { SeeAs } from './see-as.tsx'
import { useDatabasePlace, useRights, useVisibleDatabase } from './use-database.ts'

const route = '/databases/$subscription/$group/$server/$database/data'
const typingMs = 200

interface PanelProps {
  readonly table: TablePlace
  readonly draft: Draft | undefined
  /** The draft would replace a stored mask. */
  readonly isReplacing: boolean
  /** The column whose draft was stored last. */
  readonly applied: string | undefined
}

/** Ten rows with two pairs of eyes: what exempt people see beside what everyone else sees, live with the draft. */
export function PreviewPanel({ table, draft, isReplacing, applied }: PanelProps) {
  const listed = useVisibleDatabase()?.properties.enforcement.state
  const place = useDatabasePlace()
  const settled = useSettled(draft)
  const stored = useQuery(previewQuery(place, table, undefined))
  const isExempt = stored.data?.rows.some(({ raw }) => raw) ?? false
  // The service refuses a draft in the place of a mask to callers who may not see what is behind it.
  const isRefused = settled !== undefined && isReplacing && !isExempt
  const asDrafted = useQuery({
    ...previewQuery(place, table, settled),
    enabled: settled !== undefined && stored.data !== undefined && !isRefused,
  })
  const query = settled === undefined || isRefused ? stored : asDrafted
  const { eyes: own = 'both', as, role } = useSearch({ from: route })
  const navigate = useNavigate({ from: route })
  const look = (next: { eyes?: Eyes; as?: string; role?: string }) =>
    void navigate({
      search: ({ eyes: _, as: __, role: ___, ...before }) => ({ ...before, ...next }),
      replace: true,
    })
  const sight = useSight(useReads('directory') ? as : undefined)
  const roleSight = useRoleSight(table, role)
  const drafted = isRefused ? undefined : settled?.columnName
  const preview = query.data ?? stored.data
  const hasRaw = preview?.rows.some(({ raw }) => raw) ?? false
  const isMaskedAlone = preview !== undefined && preview.rows.length > 0 && !hasRaw
  // Each was asked at another time: one that says that masks are not in force is enough.
  const openState = [listed, preview?.masks.state].find((one) => one !== undefined && one !== 'Enforced')
  const areInForce = openState === undefined
  const isApplied = applied !== undefined && draft === undefined
  const { mayWrite } = useRights()
  const eyes = sight ? (sight.seesRaw || !areInForce ? 'raw' : 'masked') : (own as Eyes)
  const eyesOf = roleSight ? seeAsRole(roleSight, drafted) : () => eyes
  const shownEyesOf = (name: string) => {
    const wanted = eyesOf(name)
    return hasRaw || wanted === 'hidden' ? wanted : 'masked'
  }
  const showsMasks = preview?.columns.some(
    ({ name, maskingFunction }) => maskingFunction !== null && ['both', 'masked'].includes(shownEyesOf(name)),
  )
  return (
    <Card
      title={t.data.preview}
      actions={
        <>
          {hasRaw && (
            <Segments
              label={t.data.eyes}
              value={eyes}
              onChange={(next) => look(next === 'both' ? {} : { eyes: next })}
              choices={[
                { value: 'both', label: t.data.both },
                { value: 'raw', label: areInForce ? t.data.rawOnly : t.data.rawAlone },
                { value: 'masked', label: areInForce ? t.data.maskedOnly : t.data.withMasks },
              ]}
            />
          )}
          <SeeAs table={table} onPerson={(id) => look({ as: id })} onRole={(name) => look({ role: name })} />
        </>
      }
      isFlush
    >
      {openState !== undefined && preview && (
        <div className="notice warn" role="status">
          <TriangleAlert size={16} aria-hidden />
          <span className="grow">
            {t.data.notInForce[openState]} {showsMasks && t.data.wouldShow}
          </span>
        </div>
      )}
      {sight && <SightLine sight={sight} areInForce={areInForce} hasRaw={hasRaw} onEnd={() => look({})} />}
      {roleSight && preview && (
        <RoleLine role={roleSight} eyesOf={eyesOf} preview={preview} hasRaw={hasRaw} onEnd={() => look({})} />
      )}
      {isApplied && (
        <p className="panel-note" role="status">
          {areInForce ? t.data.applied(applied) : t.data.appliedLater(applied)}
        </p>
      )}
      {isRefused && <p className="panel-note">{t.data.draftNeedsExemption}</p>}
      {isMaskedAlone && !isRefused && !isApplied && !sight && !roleSight && (
        <div className="panel-note line spread">
          {areInForce ? t.data.noRaw : t.data.notYours}
          {mayWrite && <ExemptMyself />}
        </div>
      )}
      {query.error ? (
        <FaultView error={query.error} onRetry={() => void query.refetch()} />
      ) : !preview ? (
        <div className="card-body">
          <Skeleton lines={6} />
        </div>
      ) : preview.rows.length === 0 ? (
        <Empty title={t.data.noRows} />
      ) : (
        <PreviewRows preview={preview} eyesOf={shownEyesOf} drafted={drafted} areInForce={areInForce} />
      )}
    </Card>
  )
}

/** The draft once the person has paused typing. */
function useSettled(draft: Draft | undefined): Draft | undefined {
  const [settled, setSettled] = useState(draft)
  const key = JSON.stringify(draft)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the draft, which is new at each drawing
  useEffect(() => {
    const timer = setTimeout(() => setSettled(draft), typingMs)
    return () => clearTimeout(timer)
  }, [key])
  return settled
}
