import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

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
  useEffect(() => {
    const box = place.current
    if (!box) return
    // A canvas needs a plain colour: the browser resolves the variable, and light or dark, for an element.
    const colour = (name: string) => {
      box.style.color = `var(${name})`
      return getComputedStyle(box).color
    }
    const grid = { stroke: colour('--chart-grid'), width: 1 }
    const axis = { stroke: colour('--chart-text'), grid, ticks: grid, font: '11px system-ui' }
    const bars = uPlot.paths.bars?.({ size: [0.6, 40] })
    const chart = new uPlot(
      {
        width: box.clientWidth,
        height: 160,
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: true }, y: { range: (_chart, _low, high) => [0, Math.max(1, high)] } },
        axes: [axis, { ...axis, size: 36, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000] }],
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
  }, [days, values])
  return (
    <figure className="chart" aria-label={label}>
      <div ref={place} aria-hidden />
    </figure>
  )
}
