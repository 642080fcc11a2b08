import { t } from '../texts/index.ts'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy.tsx'
import { DateText } from '../ui/date.tsx'
import { Dialog } from '../ui/layers.tsx'

export interface Secret {
  readonly title: string
  /** Goes with the secret where a tool asks for both. */
  readonly userName?: string
  readonly text: string
  readonly endsAt: string | null
}

/** A secret that the service shows once: it is in no other answer, and gone when the dialog closes. */
export function SecretDialog({
  secret,
  onClose,
}: {
  readonly secret: Secret | undefined
  readonly onClose: () => void
}) {
  return (
    <Dialog
      title={secret?.title ?? ''}
      description={t.directory.secretHint}
      isOpen={secret !== undefined}
      onClose={onClose}
    >
      {secret && (
        <>
          {secret.userName !== undefined && (
            <div className="secret">
              <code>{secret.userName}</code>
              <CopyButton text={secret.userName} label={t.credentials.copyUserName} />
            </div>
          )}
          <div className="secret">
            <code data-testid="secret">{secret.text}</code>
            <CopyButton text={secret.text} label={t.directory.copySecret} />
          </div>
          {secret.endsAt && (
            <p className="small quiet">
              {t.directory.secretEnds} <DateText at={secret.endsAt} />
            </p>
          )}
          <div className="line">
            <Button tone="primary" onClick={onClose}>
              {t.directory.secretKept}
            </Button>
          </div>
        </>
      )}
    </Dialog>
  )
}
