import { CircleAlert, CloudOff, Lock, type LucideIcon, SearchX } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { Fault, type FaultPart } from '../api/call.ts'
import { SessionEnded } from '../session/session.ts'
import { t } from '../texts/index.ts'
import { Button } from './button.tsx'
import { CopyButton } from './copy.tsx'

const patienceMs = 150

/** True once something has taken longer than a reader takes for immediate. */
export function useIsSlow(isPending: boolean): boolean {
  const [isSlow, setSlow] = useState(false)
  useEffect(() => {
    if (!isPending) return setSlow(false)
    const timer = setTimeout(() => setSlow(true), patienceMs)
    return () => clearTimeout(timer)
  }, [isPending])
  return isPending && isSlow
}

/** Grey lines in the place of what is loading. Nothing is drawn for the first 150 ms. */
export function Skeleton({ lines = 5, height = 16 }: { readonly lines?: number; readonly height?: number }) {
  const isSlow = useIsSlow(true)
  const widths = ['92%', '78%', '85%', '64%', '71%']
  return (
    <div className="stack tight skeletons" style={{ minHeight: lines * (height + 8) }}>
      {isSlow && (
        <>
          <span className="visually-hidden" role="status">
            {t.states.loading}
          </span>
          {Array.from({ length: lines }, (_, line) => (
            <div
              // biome-ignore lint/suspicious/noArrayIndexKey: the lines have no identity
              key={line}
              className="skeleton"
              aria-hidden
              style={{ height, width: widths[line % widths.length] }}
            />
          ))}
        </>
      )}
    </div>
  )
}

/** Nothing is here yet: says what would be, and what to do next. */
export function Empty({
  icon: Icon,
  title,
  children,
  actions,
}: {
  readonly icon?: LucideIcon
  readonly title: string
  readonly children?: ReactNode
  readonly actions?: ReactNode
}) {
  return (
    <div className="empty">
      {Icon && <Icon size={24} aria-hidden />}
      <h3>{title}</h3>
      {children && <p>{children}</p>}
      {actions && <div className="line">{actions}</div>}
    </div>
  )
}

/** The error, its remedy, and the id under which the log has it. */
export function FaultView({
  error,
  onRetry,
}: {
  readonly error: unknown
  readonly onRetry?: (() => unknown) | undefined
}) {
  const { icon: Icon, title, text, remedy } = describeFault(error)
  const requestId = error instanceof Fault ? error.requestId : undefined
  const details = detailsOf(error)
  return (
    <div className="empty" role="alert">
      <Icon size={24} aria-hidden />
      <h3>{title}</h3>
      <p>{text}</p>
      {details.length > 0 && (
        <ul className="stack tight small">
          {details.map((part) => (
            <li key={`${part.target}${part.message}`}>
              {part.target && <code>{part.target}</code>} {part.message}
            </li>
          ))}
        </ul>
      )}
      {remedy && <p>{remedy}</p>}
      {requestId && (
        <p className="small line">
          {t.states.requestId} <code>{requestId}</code> <CopyButton text={requestId} />
        </p>
      )}
      {onRetry && (
        <div className="line">
          <Button onClick={onRetry}>{t.states.retry}</Button>
        </div>
      )}
    </div>
  )
}

/** The same for a place between fields and buttons. */
export function FaultNotice({ error }: { readonly error: unknown }) {
  const { title, text, remedy } = describeFault(error)
  const details = detailsOf(error)
  return (
    <div className="notice bad" role="alert">
      <CircleAlert size={16} aria-hidden />
      <div className="stack tight">
        <strong>{title}</strong>
        <span>{text}</span>
        {details.map((part) => (
          <span key={`${part.target}${part.message}`}>
            {part.target && <code>{part.target}</code>} {part.message}
          </span>
        ))}
        {remedy && <span>{remedy}</span>}
        {error instanceof Fault && error.requestId && (
          <span className="small">
            {t.states.requestId} <code>{error.requestId}</code>
          </span>
        )}
      </div>
    </div>
  )
}

/** The details that the message does not say already. */
function detailsOf(error: unknown): readonly FaultPart[] {
  if (!(error instanceof Fault)) return []
  return error.details.filter(({ message }) => !error.message.includes(message))
}

interface FaultWords {
  readonly icon: LucideIcon
  readonly title: string
  readonly text: string
  readonly remedy?: string
}

function describeFault(error: unknown): FaultWords {
  if (error instanceof SessionEnded) return { icon: Lock, title: t.session.ended, text: t.session.endedHint }
  if (!(error instanceof Fault)) {
    const isNetwork = error instanceof TypeError
    return {
      icon: isNetwork ? CloudOff : CircleAlert,
      title: isNetwork ? t.states.offlineTitle : t.states.faultTitle,
      text: isNetwork ? t.states.offlineHint : error instanceof Error ? error.message : String(error),
    }
  }
  const { status, message, code } = error
  if (status === 403) {
    const remedy = code === 'AuthorizationFailed' ? t.states.forbiddenMasking : t.states.forbiddenDirectory
    return { icon: Lock, title: t.states.forbiddenTitle, text: message, remedy }
  }
  if (status === 404)
    return { icon: SearchX, title: t.states.notFoundTitle, text: message, remedy: t.states.notFoundHint }
  if (status === 429)
    return { icon: CircleAlert, title: t.states.faultTitle, text: message, remedy: t.states.throttledHint }
  return { icon: CircleAlert, title: t.states.faultTitle, text: message }
}

/** The four shapes of data from the service: loading, refused, and, by the page, empty and there. */
export function Loaded<T>({
  query,
  skeleton,
  children,
}: {
  readonly query: {
    readonly data: T | undefined
    readonly error: Error | null
    readonly refetch: () => unknown
  }
  readonly skeleton?: ReactNode
  readonly children: (data: T) => ReactNode
}) {
  if (query.data !== undefined) return children(query.data)
  if (query.error) return <FaultView error={query.error} onRetry={() => void query.refetch()} />
  return skeleton ?? <Skeleton />
}
