import type { Logger } from 'pino'
import type { Note } from '../contracts/note.ts'
import type { LoginNeeds, LoginRoom } from '../masks/control/login-port.ts'
import { createStandbyEnding } from './end-at-standbys.ts'
import { endLoginSessions } from './end-sessions.ts'
import { Logins } from './logins.ts'
import type { LoginsOptions } from './model.ts'

/** The room of logins, as the controller calls it. */
export function openLogins(
  parts: Pick<LoginsOptions, 'source' | 'keys' | 'log'>,
): (needs: LoginNeeds) => LoginRoom {
  return ({ listOthers, ...needs }) => {
    const logins = new Logins({ ...parts, ...needs })
    return {
      logins,
      endAtStandbys: createStandbyEnding({ finish: logins.finishLeft.bind(logins), listOthers }),
      endSessions: endLoginSessions,
      tell: createNoteLog(parts.log),
    }
  }
}

/** Logs notes about the login roles of a database: once, and again when there is something else to say. */
function createNoteLog(log: Logger): (databaseId: string, notes: readonly Note[]) => void {
  const told = new Map<string, string>()
  return (databaseId, notes) => {
    const messages = notes.map(({ message }) => message)
    const text = messages.join('\n')
    if (text === (told.get(databaseId) ?? '')) return
    told.set(databaseId, text)
    if (text !== '') log.warn({ databaseId, messages }, 'login roles are not as mappings say')
  }
}
