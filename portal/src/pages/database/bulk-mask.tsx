import { useEffect } from 'react'
import { type Mask, type MaskingFunction, maskingFunctions } from '../../api/document.ts'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { useDraft } from '../../ui/draft.ts'
import { SelectField } from '../../ui/field.tsx'
import type { Proposal } from './document-change.tsx'
import { MaskOptions } from './mask-options.tsx'
import { type ColumnName, describeMask, isValidMask, labelColumn, startMask, withMask } from './masks.ts'

/** A column whose mask is to change, with what is known of it. */
export interface Target extends ColumnName {
  readonly rule: Mask | null
  readonly hint?: Mask | undefined
  readonly fitting: readonly MaskingFunction[]
}

const asRecommended = 'recommended'

/** One mask for several columns, or the recommended one for each: one impact and one change for all of them. */
export function BulkMask({
  draftName,
  targets,
  onReview,
}: {
  /** Names the columns, so that a reload keeps what was chosen for them. */
  readonly draftName: string
  readonly targets: readonly Target[]
  readonly onReview: (proposal: Proposal) => void
}) {
  const fitting = maskingFunctions.filter((name) => targets.every((target) => target.fitting.includes(name)))
  const hasHints = targets.every(({ hint }) => hint)
  const { draft: wanted, setDraft: setWanted, forgetDraft } = useDraft<Mask | typeof asRecommended>(draftName)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the draft ends with the selection, once; a reload does not come here
  useEffect(() => forgetDraft, [])
  const chosen = wanted ?? (hasHints ? asRecommended : startMask(fitting[0] ?? 'Default'))
  const isRecommended = chosen === asRecommended && hasHints
  const mask = chosen === asRecommended ? startMask(fitting[0] ?? 'Default') : chosen
  const maskOf = ({ hint }: Target) => (isRecommended && hint ? hint : mask)
  const review = () =>
    onReview({
      title: t.data.acceptTitle(targets.length),
      differences: targets.map((target) => ({
        label: labelColumn(target),
        before: describeMask(target.rule),
        after: describeMask(maskOf(target)),
      })),
      after: (before) => ({
        ...before,
        rules: targets.reduce((rules, target) => withMask(rules, target, maskOf(target)), before.rules),
      }),
      addsMasks: true,
      doneText: t.data.acceptDone(targets.length),
    })
  return (
    <div className="stack">
      <SelectField
        label={t.data.function}
        hint={isRecommended ? t.data.asRecommendedHint : t.data.functionHints[mask.maskingFunction]}
        value={isRecommended ? asRecommended : mask.maskingFunction}
        choices={[
          ...(hasHints ? [{ value: asRecommended as string, label: t.data.asRecommended }] : []),
          ...fitting.map((name) => ({ value: name as string, label: t.data.functions[name] })),
        ]}
        onChange={(next) => setWanted(next === asRecommended ? next : startMask(next as MaskingFunction))}
      />
      {!isRecommended && <MaskOptions mask={mask} onChange={setWanted} />}
      <div className="line">
        <Button tone="primary" disabled={!isRecommended && !isValidMask(mask)} onClick={review}>
          {t.data.maskSelected(targets.length)}
        </Button>
      </div>
    </div>
  )
}
