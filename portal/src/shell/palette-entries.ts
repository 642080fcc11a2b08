import type { LinkProps } from '@tanstack/react-router'
import { navigation } from './navigation.ts'

export interface Entry {
  readonly key: string
  readonly group: string
  readonly label: string
  readonly hint?: string
  readonly link: LinkProps
}

/** Finds entries for a text; `finders.ts` has them all. The signal ends when the text has changed. */
export type Finder = (text: string, signal: AbortSignal) => Promise<readonly Entry[]>

const finders: Finder[] = []

export function addFinder(finder: Finder): void {
  finders.push(finder)
}

export function findPlaces(text: string): readonly Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  return navigation.flatMap((group) =>
    group.places
      .filter(({ label, keywords = '' }) => {
        const known = `${label} ${keywords}`.toLowerCase()
        return words.every((word) => known.includes(word))
      })
      .map(({ label, link }) => ({ key: `place ${label}`, group: 'Go to', label, link })),
  )
}

/** Everything that the finders know, in their order. A finder that the person may not use finds nothing. */
export async function findEntries(text: string, signal: AbortSignal): Promise<readonly Entry[]> {
  if (text.trim() === '') return []
  const found = await Promise.all(finders.map((find) => find(text.trim(), signal).catch(() => [])))
  return found.flat()
}
