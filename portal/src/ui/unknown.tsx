import { Lock } from 'lucide-react'
import { t } from '../texts/index.ts'

/** Stands for a value that the reader may not read: unknown is not the same as none, off or never. */
export function Unknown({ children = t.states.unknown }: { readonly children?: string }) {
  return (
    <span className="needs-role faint">
      <Lock size={12} aria-hidden />
      {children}
    </span>
  )
}

/** Says once on a page which role would show what is unknown there. */
export function UnknownHint({ children }: { readonly children: string }) {
  return (
    <p className="needs-role small quiet">
      <Lock size={12} aria-hidden />
      {children}
    </p>
  )
}
