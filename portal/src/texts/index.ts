import { changes } from './changes.ts'
import { databases } from './databases.ts'
import { overview } from './overview.ts'
import { session } from './session.ts'
import { shell } from './shell.ts'
import { states } from './states.ts'

/** Every text that the portal shows. A page adds a file of its own; another language would be another of these. */
export const t = { shell, session, states, changes, overview, databases } as const
