import type { Exposure } from '../../api/document.ts'

export interface ClosedExposure {
  readonly exposure: Pick<Exposure, 'code' | 'severity' | 'objects' | 'explanation'>
  /** When this browser first saw that it is gone. */
  readonly at: string
}

interface Known {
  readonly open: Readonly<Record<string, ClosedExposure['exposure']>>
  readonly closed: Readonly<Record<string, ClosedExposure>>
}

const mostClosed = 20

export function keyOf({ code, objects, roles, explanation }: Exposure): string {
  return [code, ...objects.map(({ name }) => name), ...roles, explanation].join(' ')
}

/**
 * Keeps the open exposures of a database in this browser, and returns those that were open at an earlier look. The service
 * finds exposures anew each time and stores none.
 */
export function rememberExposures(path: string, exposures: readonly Exposure[]): readonly ClosedExposure[] {
  const place = `masquerade.exposures ${path}`
  const known = readKnown(place)
  const at = new Date().toISOString()
  const open = Object.fromEntries(
    exposures.map((one) => [
      keyOf(one),
      { code: one.code, severity: one.severity, objects: one.objects, explanation: one.explanation },
    ]),
  )
  const gone = Object.entries(known.open).map(([key, exposure]) => [key, { exposure, at }] as const)
  const closed = [...gone, ...Object.entries(known.closed)].filter(([key]) => !(key in open))
  const kept = Object.fromEntries(closed.slice(0, mostClosed))
  localStorage.setItem(place, JSON.stringify({ open, closed: kept }))
  return Object.values(kept)
}

function readKnown(place: string): Known {
  const nothing = { open: {}, closed: {} }
  try {
    return { ...nothing, ...(JSON.parse(localStorage.getItem(place) ?? '{}') as Partial<Known>) }
  } catch {
    return nothing
  }
}
