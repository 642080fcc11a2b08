import { Tooltip } from 'radix-ui'
import type { ReactElement, ReactNode } from 'react'

/** A short text beside an element while it is pointed at or focused. It never holds what is said nowhere else. */
export function Tip({ text, children }: { readonly text: ReactNode; readonly children: ReactElement }) {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger asChild>{children}</Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Content className="tooltip" sideOffset={6} collisionPadding={8}>
          {text}
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  )
}
