const key = 'masquerade.counts'
const keptDays = 30

type Past = Readonly<Record<string, Readonly<Record<string, number>>>>

function readPast(): Past {
  try {
    return JSON.parse(localStorage.getItem(key) ?? '{}') as Past
  } catch {
    return {}
  }
}

/**
 * Keeps the count of today in this browser, and returns the latest of an earlier day. The service looks into databases when
 * it is asked and stores no history of what it saw, so the comparison is with the reader's own last look.
 */
export function compareCount(
  name: string,
  count: number,
): { readonly day: string; readonly count: number } | undefined {
  const today = new Date().toISOString().slice(0, 10)
  const past = readPast()
  const days = Object.entries(past[name] ?? {}).filter(([day]) => day < today)
  const kept = days.sort(([a], [b]) => (a < b ? -1 : 1)).slice(-keptDays)
  localStorage.setItem(
    key,
    JSON.stringify({ ...past, [name]: { ...Object.fromEntries(kept), [today]: count } }),
  )
  const last = kept.at(-1)
  return last && { day: last[0], count: last[1] }
}
