import './theme/tokens.css'
import './theme/base.css'
import './ui/ui.css'
import './shell/shell.css'
import { hasPerson, readKeptPerson } from './session/kept.ts'
import { markStyles } from './session/nonce.ts'
import { applyPreferences } from './session/preferences.ts'
import { carriesAnswer, openSession } from './session/session.ts'

applyPreferences()
markStyles()

/**
 * The first page of a visit leaves for the token service at once. The rest of the portal is loaded where it will be shown:
 * after the way back from there, and in a browser that a person has used, while the token is fetched. There the page is drawn
 * for that person meanwhile; its requests wait for the token. The rest may share a file with this one, so this one must not
 * wait for it at its top level.
 */
async function start(): Promise<void> {
  const loadApp = () => import('./app.tsx')
  const isAnswer = carriesAnswer(new URL(location.href))
  const ahead = isAnswer || hasPerson() ? loadApp() : undefined
  // After a sign-out this forgets the person, so it comes before they are read.
  const opening = openSession()
  const known = isAnswer ? undefined : readKeptPerson()
  if (known) (await (ahead ?? loadApp())).drawAhead(known)
  const opened = await opening
  if (opened.kind !== 'leaving') (await (ahead ?? loadApp())).show(opened)
}

void start()
