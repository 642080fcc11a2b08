import type { LinkProps } from '@tanstack/react-router'
import { holdsRight, type Right } from '../session/rights.ts'
import type { Person } from '../session/session.ts'
import { t } from '../texts/index.ts'
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
      .map(({ label, link }) => ({ key: `place ${label}`, group: t.shell.goTo, label, link })),
  )
}

interface Action {
  readonly label: string
  readonly keywords: string
  readonly link: LinkProps
  /** Undefined: the page itself says who may. */
  readonly right?: Right
}

/** Changes that begin with a form of their own. */
const actions: readonly Action[] = [
  {
    label: t.persons.create,
    keywords: 'create add user account invite',
    link: { to: '/people', search: { new: '1' } },
    right: 'createUser',
  },
  {
    label: t.groups.create,
    keywords: 'create add team',
    link: { to: '/groups', search: { new: '1' } },
    right: 'changeGroup',
  },
  {
    label: t.applications.register,
    keywords: 'create add app client new',
    link: { to: '/applications', search: { new: '1' } },
    right: 'registerApplication',
  },
  {
    label: t.credentials.create,
    keywords: 'create add password tool gateway login',
    link: { to: '/credentials', search: { new: '1' } },
  },
  { label: t.welcome.bind, keywords: 'connect add new database server', link: { to: '/welcome' } },
]

/** The actions that the person can begin, by their words. */
export function findActions(text: string, person: Person): readonly Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  return actions
    .filter(({ right }) => right === undefined || holdsRight(person, right))
    .filter(({ label, keywords }) =>
      words.every((word) => `${label} ${keywords}`.toLowerCase().includes(word)),
    )
    .map(({ label, link }) => ({ key: `action ${label}`, group: t.shell.actions, label, link }))
}

/** Everything that the finders know, in their order. A finder that the person may not use finds nothing. */
export async function findEntries(text: string, signal: AbortSignal): Promise<readonly Entry[]> {
  if (text.trim() === '') return []
  const found = await Promise.all(finders.map((find) => find(text.trim(), signal).catch(() => [])))
  return found.flat()
}
