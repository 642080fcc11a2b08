import './theme/tokens.css'
import './theme/base.css'
import './ui/ui.css'
import './shell/shell.css'
import './shell/finders.ts'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { Tooltip } from 'radix-ui'
import type { ReactNode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/query-client.ts'
import { router } from './router.tsx'
import { SignedOut, SignInFailed } from './session/gate.tsx'
import { markStyles } from './session/nonce.ts'
import { PersonContext } from './session/person.tsx'
import { applyPreferences } from './session/preferences.ts'
import { type Opened, openSession } from './session/session.ts'
import { SessionWatch } from './session/session-watch.tsx'

applyPreferences()
markStyles()

function renderOpened(opened: Exclude<Opened, { kind: 'leaving' }>): ReactNode {
  if (opened.kind === 'signed out') return <SignedOut />
  if (opened.kind === 'failed') return <SignInFailed message={opened.message} />
  return (
    <PersonContext value={opened.person}>
      <QueryClientProvider client={queryClient}>
        <Tooltip.Provider delayDuration={300}>
          <RouterProvider router={router} />
          <SessionWatch />
        </Tooltip.Provider>
      </QueryClientProvider>
    </PersonContext>
  )
}

const opened = await openSession()
if (opened.kind !== 'leaving') {
  // The router reads the address when it starts: the sign-in's own parameters are gone by then.
  if (opened.kind === 'signed in') history.replaceState(null, '', opened.returnTo)
  const place = document.getElementById('root')
  if (place) createRoot(place).render(renderOpened(opened))
}
