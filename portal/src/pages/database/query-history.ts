const most = 50

function keyOf(databaseId: string): string {
  return `masquerade.history ${databaseId}`
}

/** The statements that were run here, newest first. They stay in this browser. */
export function readHistory(databaseId: string): readonly string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyOf(databaseId)) ?? '[]')
    return Array.isArray(kept) ? kept.filter((one) => typeof one === 'string') : []
  } catch {
    return []
  }
}

export function addToHistory(databaseId: string, sql: string): readonly string[] {
  const next = [sql, ...readHistory(databaseId).filter((one) => one !== sql)].slice(0, most)
  keep(keyOf(databaseId), JSON.stringify(next))
  return next
}

/** The statement in the editor as it was left, run or not; undefined where there was none. */
export function readDraft(databaseId: string): string | undefined {
  return localStorage.getItem(draftKeyOf(databaseId)) ?? undefined
}

export function keepDraft(databaseId: string, sql: string): void {
  keep(draftKeyOf(databaseId), sql)
}

function draftKeyOf(databaseId: string): string {
  return `masquerade.draft ${databaseId}`
}

/** A browser without room for it goes on without. */
function keep(key: string, text: string): void {
  try {
    localStorage.setItem(key, text)
  } catch {}
}

export function forgetHistory(databaseId: string): readonly string[] {
  localStorage.removeItem(keyOf(databaseId))
  return []
}
