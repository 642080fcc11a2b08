import { useEffect, useState } from 'react'
import { t } from '../texts/index.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/layers.tsx'
import { beginSignIn, renewToken, watchSession } from './session.ts'

/**
 * Tells the person that the sign-in has ended, instead of taking the page away from under their hands. A sign-in in another tab
 * counts here too: the page looks for it when the person comes back.
 */
export function SessionWatch() {
  const [hasEnded, setEnded] = useState(false)
  useEffect(() => watchSession(setEnded), [])
  useEffect(() => {
    if (!hasEnded) return
    const look = () => void (document.visibilityState === 'visible' && renewToken().catch(() => {}))
    addEventListener('focus', look)
    document.addEventListener('visibilitychange', look)
    return () => {
      removeEventListener('focus', look)
      document.removeEventListener('visibilitychange', look)
    }
  }, [hasEnded])
  return (
    <Dialog
      title={t.session.ended}
      description={t.session.endedHint}
      isOpen={hasEnded}
      onClose={() => setEnded(false)}
    >
      <div className="line">
        <a className="button primary" href="/" target="_blank" rel="noopener">
          {t.session.signInElsewhere}
        </a>
        <Button tone="ghost" onClick={() => void beginSignIn(location.pathname + location.search)}>
          {t.session.signInHere}
        </Button>
      </div>
    </Dialog>
  )
}
