import { Check, Minus, Search } from 'lucide-react'
import { Checkbox as Box, ToggleGroup } from 'radix-ui'
import { type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, useId } from 'react'
import { t } from '../texts/index.ts'

interface FieldProps {
  readonly label: string
  readonly hint?: ReactNode
  readonly fault?: string | undefined
}

interface Parts {
  readonly id: string
  readonly describedBy: string | undefined
}

function Frame({
  label,
  hint,
  fault,
  children,
}: FieldProps & { readonly children: (parts: Parts) => ReactNode }) {
  const id = useId()
  const describedBy = fault ? `${id}-fault` : hint ? `${id}-hint` : undefined
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, describedBy })}
      {fault ? (
        <span id={`${id}-fault`} className="fault-text" role="alert">
          {fault}
        </span>
      ) : hint ? (
        <span id={`${id}-hint`} className="hint">
          {hint}
        </span>
      ) : null}
    </div>
  )
}

export function TextField({
  label,
  hint,
  fault: given,
  className = '',
  longest,
  ...rest
}: FieldProps &
  InputHTMLAttributes<HTMLInputElement> & {
    /** The limit of the service. A longer text stays as it was pasted; the form is not sent until it is shortened. */
    readonly longest?: number | undefined
  }) {
  const length = [...String(rest.value ?? '')].length
  const isTooLong = longest !== undefined && length > longest
  const fault = given ?? (isTooLong ? t.states.tooLong(longest, length) : undefined)
  return (
    <Frame label={label} hint={hint} fault={fault}>
      {({ id, describedBy }) => (
        <input
          {...rest}
          id={id}
          className={`input ${className}`}
          aria-invalid={fault ? true : undefined}
          aria-describedby={describedBy}
        />
      )}
    </Frame>
  )
}

export function SelectField<Value extends string>({
  label,
  hint,
  fault,
  choices,
  value,
  onChange,
  ...rest
}: FieldProps &
  Omit<SelectHTMLAttributes<HTMLSelectElement>, 'onChange' | 'value'> & {
    readonly choices: readonly { readonly value: Value; readonly label: string }[]
    readonly value: Value
    readonly onChange: (value: Value) => void
  }) {
  return (
    <Frame label={label} hint={hint} fault={fault}>
      {({ id, describedBy }) => (
        <select
          {...rest}
          id={id}
          className="input"
          value={value}
          aria-describedby={describedBy}
          onChange={(event) => onChange(event.target.value as Value)}
        >
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      )}
    </Frame>
  )
}

/** A search box without a visible label; the label is read out. */
export function SearchField({
  label,
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { readonly label: string }) {
  return (
    <div className="search">
      <Search size={14} aria-hidden />
      <input
        {...rest}
        type="search"
        className="input"
        aria-label={label}
        placeholder={rest.placeholder ?? label}
      />
    </div>
  )
}

export function Checkbox({
  label,
  hidesLabel = false,
  checked,
  onChange,
  disabled = false,
}: {
  readonly label: string
  readonly hidesLabel?: boolean
  readonly checked: boolean | 'indeterminate'
  readonly onChange: (checked: boolean) => void
  readonly disabled?: boolean
}) {
  const id = useId()
  const box = (
    <Box.Root
      id={id}
      className="checkbox"
      checked={checked}
      disabled={disabled}
      onCheckedChange={(next) => onChange(next === true)}
      {...(hidesLabel && { 'aria-label': label })}
    >
      <Box.Indicator>{checked === 'indeterminate' ? <Minus size={12} /> : <Check size={12} />}</Box.Indicator>
    </Box.Root>
  )
  if (hidesLabel) return box
  return (
    <span className="check-line">
      {box}
      <label htmlFor={id}>{label}</label>
    </span>
  )
}

/** One of a few choices that are all visible. */
export function Segments<Value extends string>({
  label,
  choices,
  value,
  onChange,
}: {
  readonly label: string
  readonly choices: readonly { readonly value: Value; readonly label: string }[]
  readonly value: Value
  readonly onChange: (value: Value) => void
}) {
  return (
    <ToggleGroup.Root
      type="single"
      className="segments"
      aria-label={label}
      value={value}
      onValueChange={(next) => next && onChange(next as Value)}
    >
      {choices.map((choice) => (
        <ToggleGroup.Item key={choice.value} value={choice.value}>
          {choice.label}
        </ToggleGroup.Item>
      ))}
    </ToggleGroup.Root>
  )
}
