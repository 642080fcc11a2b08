import { useEffect } from 'react'
import icon from '../../icon.svg'
import { t } from '../texts/index.ts'
import { Button } from '../ui/button.tsx'
import { beginSignIn } from './session.ts'

/** The page of a visitor who is not signed in, and has to press a button to begin. */
export function Gate({
  title,
  text,
  action,
}: {
  readonly title: string
  readonly text: string
  readonly action: string
}) {
  // The page that was shown before may have named the tab after its data.
  useEffect(() => {
    document.title = t.shell.product
  }, [])
  return (
    <main className="centre">
      <div className="card">
        <div className="empty">
          <img src={icon} alt="" width={40} height={40} />
          <h1>{title}</h1>
          <p>{text}</p>
          <div className="line">
            <Button tone="primary" onClick={() => void beginSignIn('/')}>
              {action}
            </Button>
          </div>
        </div>
      </div>
    </main>
  )
}

export function SignedOut() {
  return <Gate title={t.session.signedOut} text={t.session.signedOutHint} action={t.session.signIn} />
}

export function SignInFailed({ message }: { readonly message: string }) {
  return <Gate title={t.session.failed} text={message} action={t.session.tryAgain} />
}
