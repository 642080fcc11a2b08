import { Tip } from './tip.tsx'

const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const dayOnly = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' })
const steps: readonly [limitSeconds: number, unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  [60, 'second', 1],
  [3600, 'minute', 60],
  [86_400, 'hour', 3600],
  [7 * 86_400, 'day', 86_400],
]

/** A moment in the reader's zone and language; UTC when pointed at. The last week is told relative to now. */
export function DateText({
  at,
  isRelative = false,
  isDay = false,
}: {
  readonly at: string | null | undefined
  readonly isRelative?: boolean
  readonly isDay?: boolean
}) {
  if (!at) return <span className="faint">–</span>
  const date = new Date(at)
  const words = isRelative ? tellRelative(date) : undefined
  return (
    <Tip text={`${date.toISOString().replace('T', ' ').slice(0, 19)} UTC`}>
      <time dateTime={date.toISOString()}>{words ?? (isDay ? dayOnly : full).format(date)}</time>
    </Tip>
  )
}

function tellRelative(date: Date): string | undefined {
  const seconds = (date.getTime() - Date.now()) / 1000
  const step = steps.find(([limit]) => Math.abs(seconds) < limit)
  return step && relative.format(Math.round(seconds / step[2]), step[1])
}
