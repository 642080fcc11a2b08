import { useState } from 'react'
import { type Change, ChangeDrawer } from '../change/change-drawer.tsx'

export interface FormProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

/** The drawer with the fields of a new object; what was typed is forgotten when it closes. */
export function CreateForm<Values>({
  isOpen,
  onClose,
  blank,
  describe,
}: FormProps & {
  readonly blank: Values
  readonly describe: (values: Values, set: (change: Partial<Values>) => void) => Change
}) {
  const [values, setValues] = useState(blank)
  const change = describe(values, (next) => setValues((before) => ({ ...before, ...next })))
  return (
    <ChangeDrawer
      change={isOpen ? change : undefined}
      onClose={() => {
        setValues(blank)
        onClose()
      }}
    />
  )
}
