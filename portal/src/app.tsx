import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { Tooltip } from 'radix-ui'
import { type ReactNode, useSyncExternalStore } from 'react'
import { createRoot, type Root } from 'react-dom/client'
import { queryClient } from './api/query-client.ts'
import { router } from './router.tsx'
import { SignedOut, SignInFailed } from './session/gate.tsx'
import { isSamePerson, type Person } from './session/kept.ts'
import { PersonContext } from './session/person.tsx'
import { hasLeft, type Opened, watchSession } from './session/session.ts'
import { SessionWatch } from './session/session-watch.tsx'
import './shell/finders.ts'

type Shown = Exclude<Opened, { kind: 'leaving' }>

let root: Root | undefined
/** The person of a page that was drawn before the token service confirmed them. */
let drawnFor: Person | undefined

/** Draws the portal for the last person of this browser: it holds no data until the token service has confirmed them. */
export function drawAhead(person: Person): void {
  drawnFor = person
  draw(<Portal person={person} />)
}

/** Draws the portal for the person who is signed in, or the page that a visitor gets instead. */
export function show(opened: Shown): void {
  if (opened.kind === 'signed out') draw(<SignedOut />)
  else if (opened.kind === 'failed') draw(<SignInFailed message={opened.message} />)
  else if (!drawnFor) {
    // The router reads the address when it starts: the sign-in's own parameters are gone by then.
    history.replaceState(null, '', opened.returnTo)
    draw(<Portal person={opened.person} />)
  } else if (drawnFor.id !== opened.person.id) location.reload()
  else if (!isSamePerson(drawnFor, opened.person)) draw(<Portal person={opened.person} />)
}

function draw(content: ReactNode): void {
  const place = document.getElementById('root')
  if (!place) return
  root ??= createRoot(place)
  root.render(content)
}

/** Shows the pages to the person until that person has left the browser: a tab that stays open shows the next person no data. */
function Portal({ person }: { readonly person: Person }) {
  if (useSyncExternalStore(watchSession, hasLeft)) return <SignedOut />
  return (
    <PersonContext value={person}>
      <QueryClientProvider client={queryClient}>
        <Tooltip.Provider delayDuration={300}>
          <RouterProvider router={router} />
          <SessionWatch />
        </Tooltip.Provider>
      </QueryClientProvider>
    </PersonContext>
  )
}
