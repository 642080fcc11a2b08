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
  localStorage.setItem(keyOf(databaseId), JSON.stringify(next))
  return next
}

export function forgetHistory(databaseId: string): readonly string[] {
  localStorage.removeItem(keyOf(databaseId))
  return []
}
