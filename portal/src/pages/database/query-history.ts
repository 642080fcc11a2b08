import { isOwner } from '../../session/kept.ts'

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

/** A tab whose person has left writes nothing that the next person at this browser would find. */
export function addToHistory(personId: string, databaseId: string, sql: string): readonly string[] {
  if (!isOwner(personId)) return []
  const next = [sql, ...readHistory(databaseId).filter((one) => one !== sql)].slice(0, most)
  try {
    localStorage.setItem(keyOf(databaseId), JSON.stringify(next))
  } catch {
    // A browser without room for it goes on without.
  }
  return next
}

export function forgetHistory(databaseId: string): readonly string[] {
  localStorage.removeItem(keyOf(databaseId))
  return []
}
