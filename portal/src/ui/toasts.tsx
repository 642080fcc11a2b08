import { CircleAlert, CircleCheck, X } from 'lucide-react'
import { Toast } from 'radix-ui'
import { useSyncExternalStore } from 'react'
import { t } from '../texts/index.ts'
import { IconButton } from './button.tsx'

interface Message {
  readonly id: number
  readonly tone: 'good' | 'bad'
  readonly text: string
}

let messages: readonly Message[] = []
let nextId = 1
const listeners = new Set<() => void>()

function change(next: readonly Message[]): void {
  messages = next
  for (const listener of listeners) listener()
}

/** Says briefly that something was done, or that it failed beside the page where the person is. */
export function toast(text: string, tone: Message['tone'] = 'good'): void {
  change([...messages, { id: nextId++, tone, text }])
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
    <Toast.Provider swipeDirection="right" duration={6000}>
      {shown.map(({ id, tone, text }) => (
        <Toast.Root
          key={id}
          className={`toast ${tone}`}
          onOpenChange={(isOpen) => !isOpen && change(messages.filter((message) => message.id !== id))}
        >
          {tone === 'good' ? <CircleCheck size={16} aria-hidden /> : <CircleAlert size={16} aria-hidden />}
          <Toast.Description className="grow">{text}</Toast.Description>
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
