import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { Tip } from './tip.tsx'

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly tone?: 'primary' | 'plain' | 'ghost' | 'danger'
  readonly size?: 'usual' | 'small'
}

export function Button({
  tone = 'plain',
  size = 'usual',
  className = '',
  type = 'button',
  ...rest
}: ButtonProps) {
  const classes = ['button', tone === 'plain' ? '' : tone, size === 'small' ? 'small' : '', className]
  return <button {...rest} type={type} className={classes.filter(Boolean).join(' ')} />
}

/** A button that shows only an icon: its name is read out, and shown when pointed at. */
export function IconButton({
  label,
  children,
  className = '',
  tone = 'ghost',
  ...rest
}: ButtonProps & { readonly label: string; readonly children: ReactNode }) {
  return (
    <Tip text={label}>
      <Button {...rest} tone={tone} className={`icon ${className}`} aria-label={label}>
        {children}
      </Button>
    </Tip>
  )
}
