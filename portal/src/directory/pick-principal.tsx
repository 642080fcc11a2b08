import type { LucideIcon } from 'lucide-react'
import { useState } from 'react'
import type { Named } from '../api/directory.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/layers.tsx'
import { type Pickable, PrincipalPicker } from './principal-picker.tsx'

/** A button that asks for one person, group or application. */
export function PickPrincipal({
  button,
  icon: Icon,
  title,
  description,
  label,
  sets,
  size = 'small',
  onPick,
}: {
  readonly button: string
  readonly icon: LucideIcon
  readonly title: string
  readonly description: string
  readonly label: string
  readonly sets: readonly Pickable[]
  readonly size?: 'small' | 'usual'
  readonly onPick: (picked: Named) => void
}) {
  const [isOpen, setOpen] = useState(false)
  const pick = ([picked]: readonly Named[]) => {
    if (!picked) return
    setOpen(false)
    onPick(picked)
  }
  return (
    <>
      <Button size={size} onClick={() => setOpen(true)}>
        <Icon size={13} aria-hidden />
        {button}
      </Button>
      <Dialog title={title} description={description} isOpen={isOpen} onClose={() => setOpen(false)}>
        <PrincipalPicker label={label} sets={sets} picked={[]} onPick={pick} />
      </Dialog>
    </>
  )
}
