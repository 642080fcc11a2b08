import type { Policy } from '../../api/document.ts'
import { t } from '../../texts/index.ts'
import { Segments } from '../../ui/field.tsx'
import type { Proposal } from './document-change.tsx'

const choices = (['report', 'refuse'] as const).map((value) => ({
  value,
  label: t.containment.settings[value],
}))

/** What becomes of changes whose masks would not contain every role. */
export function ContainmentSetting({
  policy: { notContained = 'report' },
  onPropose,
}: {
  readonly policy: Policy
  /** Absent where the person may not change the policy. */
  readonly onPropose: ((proposal: Proposal) => void) | undefined
}) {
  const choose = (next: typeof notContained) =>
    onPropose?.({
      title: t.containment.settingTitle,
      description: t.containment.settingHint,
      differences: [
        {
          label: t.containment.setting,
          before: t.containment.settings[notContained],
          after: t.containment.settings[next],
        },
      ],
      after: (before) => ({ ...before, policy: { ...before.policy, notContained: next } }),
      doneText: t.containment.settingDone,
    })
  return (
    <div className="line">
      <span className="quiet small">{t.containment.setting}</span>
      {onPropose ? (
        <Segments label={t.containment.setting} value={notContained} onChange={choose} choices={choices} />
      ) : (
        <strong className="small">{t.containment.settings[notContained]}</strong>
      )}
    </div>
  )
}
