import { Lock } from 'lucide-react'
import { type Right, roleFor } from '../session/rights.ts'
import { t } from '../texts/index.ts'

/** Stands where a button would: what the person may not do, and the role that would help. */
export function NeedsRole({ right, what }: { readonly right: Right; readonly what: string }) {
  return (
    <span className="needs-role small quiet">
      <Lock size={12} aria-hidden />
      {t.directory.needsRole(what, roleFor(right))}
    </span>
  )
}
