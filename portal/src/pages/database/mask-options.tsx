import type { Mask } from '../../api/document.ts'
import { t } from '../../texts/index.ts'
import { TextField } from '../../ui/field.tsx'
import { findFaults } from './masks.ts'

/** The options of a mask's function; most functions have none. */
export function MaskOptions({
  mask,
  isDisabled = false,
  onChange,
}: {
  readonly mask: Mask
  readonly isDisabled?: boolean
  readonly onChange: (mask: Mask) => void
}) {
  const faults = findFaults(mask)
  const field = (
    name: 'numberFrom' | 'numberTo' | 'prefixSize' | 'suffixSize' | 'replacementString',
    label: string,
  ) => (
    <TextField
      label={label}
      fault={faults[name]}
      value={mask[name] ?? ''}
      disabled={isDisabled}
      inputMode={name === 'replacementString' ? 'text' : 'decimal'}
      maxLength={40}
      onChange={(event) =>
        onChange({ ...mask, [name]: event.target.value === '' ? null : event.target.value })
      }
    />
  )
  if (mask.maskingFunction === 'Number')
    return (
      <div className="fields-row">
        {field('numberFrom', t.data.from)}
        {field('numberTo', t.data.to)}
      </div>
    )
  if (mask.maskingFunction !== 'Text') return null
  return (
    <div className="fields-row">
      {field('prefixSize', t.data.prefix)}
      {field('replacementString', t.data.replacement)}
      {field('suffixSize', t.data.suffix)}
    </div>
  )
}
