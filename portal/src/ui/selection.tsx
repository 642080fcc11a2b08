import type { SelectRows } from '../shell/selected.ts'
import { t } from '../texts/index.ts'
import { Checkbox } from './field.tsx'

interface SelectionProps {
  readonly selected: ReadonlySet<string>
  readonly onSelect: SelectRows
}

/** The box in front of a row. */
export function SelectOne({
  id,
  label,
  selected,
  onSelect,
}: SelectionProps & { readonly id: string; readonly label: string }) {
  const toggle = (isOn: boolean) =>
    onSelect((before) => (isOn ? new Set([...before, id]) : new Set([...before].filter((one) => one !== id))))
  return (
    <td className="select-cell">
      <Checkbox hidesLabel label={label} checked={selected.has(id)} onChange={toggle} />
    </td>
  )
}

/** The box above the rows. */
export function SelectAll({
  keys,
  selected,
  onSelect,
}: SelectionProps & { readonly keys: readonly string[] }) {
  const count = keys.filter((key) => selected.has(key)).length
  const state = count === 0 ? false : count === keys.length ? true : 'indeterminate'
  return (
    <th scope="col" className="select-cell">
      <Checkbox
        hidesLabel
        label={t.states.selectAll}
        checked={state}
        onChange={(isOn) => onSelect(() => new Set(isOn ? keys : []))}
      />
    </th>
  )
}
