import { CircleAlert, CircleCheck, X } from 'lucide-react'
import { Toast } from 'radix-ui'
import { useSyncExternalStore } from 'react'
import { t } from '../texts/index.ts'
import { Button, IconButton } from './button.tsx'

interface Message {
  readonly id: number
  readonly tone: 'good' | 'bad'
  readonly text: string
  readonly action?: Action
}

interface Action {
  readonly label: string
  readonly run: () => void
}

/** A reader takes longer to decide than to read. */
const shownMs = { text: 6000, action: 12_000 }
/** A failure stays until it is closed, or until it is over. */
const endless = Number.POSITIVE_INFINITY

let messages: readonly Message[] = []
let nextId = 1
const listeners = new Set<() => void>()

function change(next: readonly Message[]): void {
  messages = next
  for (const listener of listeners) listener()
}

/** Says briefly that something was done, or that it failed beside the page where the person is. The same text is there once. */
export function toast(
  text: string,
  { tone = 'good', action }: { readonly tone?: Message['tone']; readonly action?: Action } = {},
): void {
  dismissToast(text)
  change([...messages, { id: nextId++, tone, text, ...(action && { action }) }])
}

export function dismissToast(text: string): void {
  if (messages.some((message) => message.text === text))
    change(messages.filter((message) => message.text !== text))
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => messages,
  )
  return (
    <Toast.Provider swipeDirection="right">
      {shown.map(({ id, tone, text, action }) => (
        <Toast.Root
          key={id}
          className={`toast ${tone}`}
          duration={tone === 'bad' ? endless : action ? shownMs.action : shownMs.text}
          onOpenChange={(isOpen) => !isOpen && change(messages.filter((message) => message.id !== id))}
        >
          {tone === 'good' ? <CircleCheck size={16} aria-hidden /> : <CircleAlert size={16} aria-hidden />}
          <Toast.Description className="grow">{text}</Toast.Description>
          {action && (
            <Toast.Action asChild altText={action.label}>
              <Button size="small" onClick={action.run}>
                {action.label}
              </Button>
            </Toast.Action>
          )}
          <Toast.Close asChild>
            <IconButton label={t.states.close} size="small">
              <X size={13} />
            </IconButton>
          </Toast.Close>
        </Toast.Root>
      ))}
      <Toast.Viewport className="toasts" />
    </Toast.Provider>
  )
}
