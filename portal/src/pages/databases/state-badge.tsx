import type { EnforcementState } from '../../api/masking.ts'
import { t } from '../../texts/index.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'

const tones: Readonly<Record<EnforcementState, Tone>> = {
  Enforced: 'good',
  Observing: 'accent',
  Off: 'warn',
  NoRules: 'neutral',
  Pending: 'warn',
  Failed: 'bad',
  NotBound: 'neutral',
}

export function StateBadge({ state }: { readonly state: EnforcementState }) {
  return (
    <Badge tone={tones[state]} hasDot>
      {t.databases.states[state]}
    </Badge>
  )
}
