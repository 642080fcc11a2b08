import { useQuery } from '@tanstack/react-query'
import { Sparkles } from 'lucide-react'
import { useState } from 'react'
import { type Recommendation, recommendationsQuery } from '../../api/document.ts'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { Drawer } from '../../ui/layers.tsx'
import { useDocumentChange } from './document-change.tsx'
import { describeMask, labelColumn, withMask } from './masks.ts'
import { useDatabasePlace, useRights } from './use-database.ts'

/** Columns that look sensitive, to be chosen from and masked in one change. */
export function AcceptRecommendations() {
  const { mayWrite } = useRights()
  const { data = [] } = useQuery(recommendationsQuery(useDatabasePlace()))
  const [isOpen, setOpen] = useState(false)
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set())
  const { drawer, propose } = useDocumentChange()
  if (!mayWrite || data.length === 0) return null
  const chosen = data.filter((one) => !left.has(labelColumn(one)))
  const toggle = (one: Recommendation, isOn: boolean) => {
    const next = new Set(left)
    if (isOn) next.delete(labelColumn(one))
    else next.add(labelColumn(one))
    setLeft(next)
  }
  const review = () => {
    setOpen(false)
    propose({
      title: t.data.acceptTitle(chosen.length),
      differences: chosen.map((one) => ({
        label: labelColumn(one),
        before: t.data.unmasked,
        after: describeMask(one),
      })),
      after: (before) => ({
        ...before,
        rules: chosen.reduce((rules, one) => withMask(rules, one, one), before.rules),
      }),
      addsMasks: true,
      doneText: t.data.acceptDone(chosen.length),
    })
  }
  return (
    <>
      <div className="notice">
        <Sparkles size={16} aria-hidden />
        <div className="line spread grow">
          <span>{t.data.found(data.length)}</span>
          <Button size="small" onClick={() => setOpen(true)}>
            {t.data.look}
          </Button>
        </div>
      </div>
      <Drawer
        title={t.data.recommendations}
        description={t.data.recommendationsHint}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        foot={
          <Button tone="primary" disabled={chosen.length === 0} onClick={review}>
            {t.data.acceptAll(chosen.length)}
          </Button>
        }
      >
        <ul className="recommendations">
          {data.map((one) => (
            <li key={labelColumn(one)}>
              <Checkbox
                label={labelColumn(one)}
                checked={!left.has(labelColumn(one))}
                onChange={(isOn) => toggle(one, isOn)}
              />
              <span className="quiet small">
                {t.data.recommended(one.kind)} · {t.data.confidence(Math.round(one.confidence * 100))} ·{' '}
                {describeMask(one)}
              </span>
            </li>
          ))}
        </ul>
      </Drawer>
      {drawer}
    </>
  )
}
