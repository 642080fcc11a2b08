import { useEffect, useRef, useSyncExternalStore } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { getPreferences, onPreferences } from '../session/preferences.ts'

const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })

function nameDays(seconds: readonly number[]): string[] {
  return seconds.map((one) => day.format(new Date(one * 1000)))
}

const halfDay = 43_200

/** The first and the last bar stand in the middle of their day. */
function padDays(_chart: uPlot, first: number, last: number): [number, number] {
  return [first - halfDay, last + halfDay]
}

const darkness = matchMedia('(prefers-color-scheme: dark)')

function onScheme(listener: () => void): () => void {
  const forget = onPreferences(listener)
  darkness.addEventListener('change', listener)
  return () => {
    forget()
    darkness.removeEventListener('change', listener)
  }
}

/** Names the colours in use: those that the person chose, else those of the system. */
function readScheme(): string {
  const { theme } = getPreferences()
  return theme === 'system' ? `system ${darkness.matches}` : theme
}

/** Bars over days. The numbers are also in the table beside it, so the drawing is hidden from readers of the screen. */
export function DayChart({
  label,
  days,
  values,
}: {
  readonly label: string
  /** Starts of days, in seconds since 1970. */
  readonly days: readonly number[]
  readonly values: readonly number[]
}) {
  const place = useRef<HTMLDivElement>(null)
  const words = useRef<HTMLElement>(null)
  const scheme = useSyncExternalStore(onScheme, readScheme)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a canvas keeps the colours that it was drawn with
  useEffect(() => {
    const box = place.current
    if (!box) return
    // A canvas needs a plain colour: the browser resolves the variable, and light or dark, for an element.
    const colour = (name: string) => {
      box.style.color = `var(${name})`
      return getComputedStyle(box).color
    }
    const none = { show: false }
    const axis = { stroke: colour('--chart-text'), font: '11px system-ui', ticks: none }
    const lines = { stroke: colour('--chart-grid'), width: 1 }
    const nameValue = ({ cursor, data }: uPlot) => {
      const at = cursor.idx
      const known = typeof at === 'number' ? data[0][at] : undefined
      if (words.current)
        words.current.textContent =
          known === undefined ? '' : `${nameDays([known])}: ${data[1]?.[at ?? 0]?.toLocaleString() ?? 0}`
    }
    const bars = uPlot.paths.bars?.({ size: [0.6, 40], radius: 0.2 })
    const chart = new uPlot(
      {
        width: box.clientWidth,
        height: 160,
        legend: { show: false },
        cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
        hooks: { setCursor: [nameValue] },
        scales: {
          x: { time: true, range: padDays },
          y: { range: (_chart, _low, high) => [0, Math.max(1, high)] },
        },
        axes: [
          { ...axis, grid: none, size: 28, values: (_chart, seconds) => nameDays(seconds) },
          { ...axis, grid: lines, size: 36, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000] },
        ],
        series: [
          {},
          { fill: colour('--chart-bar'), width: 0, points: { show: false }, ...(bars && { paths: bars }) },
        ],
      },
      [[...days], [...values]],
      box,
    )
    const watch = new ResizeObserver(() => chart.setSize({ width: box.clientWidth, height: 160 }))
    watch.observe(box)
    return () => {
      watch.disconnect()
      chart.destroy()
    }
  }, [days, values, scheme])
  return (
    <figure className="chart" aria-label={label}>
      <figcaption ref={words} className="chart-value" aria-hidden />
      <div ref={place} aria-hidden />
    </figure>
  )
}
