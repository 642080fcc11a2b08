import type { Logger } from 'pino'
import type { Note } from '../plan.ts'

/** Logs notes about the login roles of a database: once, and again when there is something else to say. */
export function createNoteLog(log: Logger): (databaseId: string, notes: readonly Note[]) => void {
  const told = new Map<string, string>()
  return (databaseId, notes) => {
    const messages = notes.map(({ message }) => message)
    const text = messages.join('\n')
    if (text === (told.get(databaseId) ?? '')) return
    told.set(databaseId, text)
    if (text !== '') log.warn({ databaseId, messages }, 'login roles are not as mappings say')
  }
}
