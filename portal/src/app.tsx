import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { Tooltip } from 'radix-ui'
import type { ReactNode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/query-client.ts'
import { router } from './router.tsx'
import { SignedOut, SignInFailed } from './session/gate.tsx'
import { PersonContext } from './session/person.tsx'
import type { Opened } from './session/session.ts'
import { SessionWatch } from './session/session-watch.tsx'
import './shell/finders.ts'

type Shown = Exclude<Opened, { kind: 'leaving' }>

/** Draws the portal for the person who is signed in, or the page that a visitor gets instead. */
export function show(opened: Shown): void {
  // The router reads the address when it starts: the sign-in's own parameters are gone by then.
  if (opened.kind === 'signed in') history.replaceState(null, '', opened.returnTo)
  const place = document.getElementById('root')
  if (place) createRoot(place).render(renderOpened(opened))
}

function renderOpened(opened: Shown): ReactNode {
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
