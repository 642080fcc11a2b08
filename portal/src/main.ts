import './theme/tokens.css'
import './theme/base.css'
import './ui/ui.css'
import './shell/shell.css'
import { markStyles } from './session/nonce.ts'
import { applyPreferences } from './session/preferences.ts'
import { carriesAnswer, openSession } from './session/session.ts'

applyPreferences()
markStyles()

// The first page of a visit leaves for the token service at once. Only the one that comes back from there needs the rest of
// the portal, and loads it while the token is fetched.
const loadApp = () => import('./app.tsx')
const ahead = carriesAnswer(new URL(location.href)) ? loadApp() : undefined
const opened = await openSession()
if (opened.kind !== 'leaving') (await (ahead ?? loadApp())).show(opened)
