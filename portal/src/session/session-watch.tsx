import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { t } from '../texts/index.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/layers.tsx'
import { beginSignIn, SessionEnded } from './session.ts'

/** Tells the person that the sign-in has ended, instead of taking the page away from under their hands. */
export function SessionWatch() {
  const client = useQueryClient()
  const [hasEnded, setEnded] = useState(false)
  useEffect(
    () =>
      client.getQueryCache().subscribe((event) => {
        if (event.type === 'updated' && event.query.state.error instanceof SessionEnded) setEnded(true)
      }),
    [client],
  )
  const signIn = () => void beginSignIn(location.pathname + location.search)
  return (
    <Dialog
      title={t.session.ended}
      description={t.session.endedHint}
      isOpen={hasEnded}
      onClose={() => setEnded(false)}
    >
      <div className="line">
        <Button tone="primary" onClick={signIn}>
          {t.session.signIn}
        </Button>
      </div>
    </Dialog>
  )
}
