import { DropdownMenu } from 'radix-ui'
import type { ReactElement, ReactNode } from 'react'

export interface MenuItem {
  readonly label: string
  readonly icon?: ReactNode
  readonly onSelect: () => void
  readonly isDanger?: boolean
  readonly isDisabled?: boolean
}

/** Actions on one thing behind one button. */
export function Menu({
  trigger,
  items,
}: {
  readonly trigger: ReactElement
  readonly items: readonly (MenuItem | 'line')[]
}) {
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="end" sideOffset={4} collisionPadding={8}>
          {items.map((item, index) =>
            item === 'line' ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: a line has no identity
              <DropdownMenu.Separator key={index} className="menu-line" />
            ) : (
              <DropdownMenu.Item
                key={item.label}
                className={item.isDanger ? 'menu-item danger' : 'menu-item'}
                disabled={item.isDisabled ?? false}
                onSelect={item.onSelect}
              >
                {item.icon}
                {item.label}
              </DropdownMenu.Item>
            ),
          )}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}
