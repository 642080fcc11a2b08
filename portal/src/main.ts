import './theme/tokens.css'
import './theme/base.css'
import './ui/ui.css'
import './shell/shell.css'
import { hasPerson } from './session/kept.ts'
import { markStyles } from './session/nonce.ts'
import { applyPreferences } from './session/preferences.ts'
import { carriesAnswer, openSession } from './session/session.ts'

applyPreferences()
markStyles()

/**
 * The first page of a visit leaves for the token service at once. The rest of the portal is loaded where it will be shown:
 * after the way back from there, and in a browser that a person has used, while the token is fetched. It may share a file with
 * this one, so this one must not wait for it at its top level.
 */
async function start(): Promise<void> {
  const loadApp = () => import('./app.tsx')
  const ahead = carriesAnswer(new URL(location.href)) || hasPerson() ? loadApp() : undefined
  const opened = await openSession()
  if (opened.kind !== 'leaving') (await (ahead ?? loadApp())).show(opened)
}

void start()
