import { X } from 'lucide-react'
import { Dialog as Layer } from 'radix-ui'
import type { ReactNode } from 'react'
import { t } from '../texts/index.ts'
import { IconButton } from './button.tsx'

interface LayerProps {
  readonly title: string
  readonly description?: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly children: ReactNode
}

/** A panel at the right edge, for a thing in detail or a change. */
export function Drawer({
  title,
  description,
  isOpen,
  onClose,
  children,
  foot,
  isWide = false,
  isKept = false,
}: LayerProps & {
  readonly foot?: ReactNode
  readonly isWide?: boolean
  /** A click beside it does not close it: what was typed would be gone. */
  readonly isKept?: boolean
}) {
  return (
    <Layer.Root open={isOpen} onOpenChange={(next) => !next && onClose()}>
      <Layer.Portal>
        <Layer.Overlay className="scrim" />
        <Layer.Content
          className={isWide ? 'drawer wide' : 'drawer'}
          onInteractOutside={(event) => isKept && event.preventDefault()}
          onOpenAutoFocus={(event) => {
            // The panel itself: the first button in it is the one that closes it.
            event.preventDefault()
            if (event.currentTarget instanceof HTMLElement) event.currentTarget.focus()
          }}
          {...(description === undefined && { 'aria-describedby': undefined })}
        >
          <div className="drawer-head">
            <div>
              <Layer.Title asChild>
                <h2>{title}</h2>
              </Layer.Title>
              {description && <Layer.Description className="quiet small">{description}</Layer.Description>}
            </div>
            <Layer.Close asChild>
              <IconButton label={t.states.close}>
                <X size={16} />
              </IconButton>
            </Layer.Close>
          </div>
          <div className="drawer-body" tabIndex={0}>
            {children}
          </div>
          {foot && <div className="drawer-foot">{foot}</div>}
        </Layer.Content>
      </Layer.Portal>
    </Layer.Root>
  )
}

/** A question in the middle of the page. */
export function Dialog({ title, description, isOpen, onClose, children }: LayerProps) {
  return (
    <Layer.Root open={isOpen} onOpenChange={(next) => !next && onClose()}>
      <Layer.Portal>
        <Layer.Overlay className="scrim" />
        <Layer.Content
          className="dialog"
          {...(description === undefined && { 'aria-describedby': undefined })}
        >
          <Layer.Title asChild>
            <h2>{title}</h2>
          </Layer.Title>
          {description && <Layer.Description className="quiet">{description}</Layer.Description>}
          {children}
        </Layer.Content>
      </Layer.Portal>
    </Layer.Root>
  )
}
