import { Sparkles, X } from 'lucide-react'
import type { ColumnEntry, TablePlace } from '../../api/catalog.ts'
import { type Mask, maskingFunctions, type Recommendation } from '../../api/document.ts'
import { t } from '../../texts/index.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { describeDefault } from './default-mask.ts'
import { useDocumentChange } from './document-change.tsx'
import { MaskOptions } from './mask-options.tsx'
import { describeMask, isSameMask, isValidMask, startMask, withMask, withoutMask } from './masks.ts'

interface EditorProps {
  readonly table: TablePlace
  readonly column: ColumnEntry
  readonly hint: Recommendation | undefined
  readonly mask: Mask | undefined
  readonly mayWrite: boolean
  readonly onChange: (mask: Mask) => void
  /** The draft was stored. */
  readonly onApplied: () => void
  readonly onClose: () => void
}

/** The mask of one column. Nothing is stored here: the preview follows each key, and the drawer asks before it is. */
export function MaskEditor(props: EditorProps) {
  const { table, column, hint, mask, mayWrite, onChange, onApplied, onClose } = props
  const { drawer, propose } = useDocumentChange()
  if (!mask) return null
  const target = { schemaName: table.schema, tableName: table.table, columnName: column.columnName }
  const label = `${table.schema}.${table.table}.${column.columnName}`
  const isNew = column.rule === null
  const review = () =>
    propose(
      {
        title: isNew ? t.data.titleAdd(column.columnName) : t.data.titleChange(column.columnName),
        differences: [
          {
            label,
            before: isNew ? t.data.unmasked : describeMask(column.rule),
            after: describeMask(mask),
          },
        ],
        after: (before) => ({ ...before, rules: withMask(before.rules, target, mask) }),
        addsMasks: true,
        doneText: t.data.done(column.columnName),
      },
      onApplied,
    )
  const remove = () =>
    propose({
      title: t.data.titleRemove(column.columnName),
      differences: [{ label, before: describeMask(column.rule), after: t.data.unmasked }],
      after: (before) => ({ ...before, rules: withoutMask(before.rules, target) }),
      isDanger: true,
      confirmLabel: t.data.removeMask,
      doneText: t.data.doneRemove(column.columnName),
    })
  return (
    <Card
      title={<span className="mono">{column.columnName}</span>}
      actions={
        <IconButton label={t.data.closeEditor} size="small" onClick={onClose}>
          <X size={14} />
        </IconButton>
      }
    >
      <div className="stack">
        {hint && isNew && (
          <div className="notice warn">
            <Sparkles size={14} aria-hidden />
            <span>
              {t.data.recommended(hint.kind)} ({t.data.confidence(Math.round(hint.confidence * 100))}).{' '}
              {t.data.reasons(hint.reasons)}
            </span>
          </div>
        )}
        <SelectField
          label={t.data.function}
          hint={
            mask.maskingFunction === 'Default'
              ? describeDefault(column.type)
              : t.data.functionHints[mask.maskingFunction]
          }
          value={mask.maskingFunction}
          disabled={!mayWrite}
          choices={maskingFunctions
            .filter((name) => column.fittingFunctions.includes(name))
            .map((name) => ({ value: name, label: t.data.functions[name] }))}
          onChange={(next) => onChange(startMask(next))}
        />
        <MaskOptions mask={mask} isDisabled={!mayWrite} onChange={onChange} />
        {mayWrite ? (
          <div className="line">
            <Button
              tone="primary"
              disabled={!isValidMask(mask) || (!isNew && isSameMask(column.rule, mask))}
              onClick={review}
            >
              {isNew ? t.data.addMask : t.data.review}
            </Button>
            {!isNew && (
              <Button tone="ghost" onClick={remove}>
                {t.data.removeMask}
              </Button>
            )}
          </div>
        ) : (
          <p className="quiet small">{t.states.forbiddenRoles('SQL Security Manager')}</p>
        )}
      </div>
      {drawer}
    </Card>
  )
}
