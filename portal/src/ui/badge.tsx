import type { ReactNode } from 'react'

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'accent'

/** The words carry the meaning; the colour and the dot only repeat it. */
export function Badge({
  tone = 'neutral',
  hasDot = false,
  children,
}: {
  readonly tone?: Tone
  readonly hasDot?: boolean
  readonly children: ReactNode
}) {
  return (
    <span className={tone === 'neutral' ? 'badge' : `badge ${tone}`}>
      {hasDot && <span className="dot" aria-hidden />}
      {children}
    </span>
  )
}

export function Avatar({ name, isSquare = false }: { readonly name: string; readonly isSquare?: boolean }) {
  const words = name
    .trim()
    .split(/[\s@._-]+/)
    .filter(Boolean)
  const initials = [words[0], words.length > 1 ? words.at(-1) : undefined].map(
    (word) => [...(word ?? '')][0] ?? '',
  )
  return (
    <span className={isSquare ? 'avatar square' : 'avatar'} aria-hidden>
      {initials.join('').toUpperCase()}
    </span>
  )
}
