import { createContext, useContext } from 'react'
import type { Person } from './session.ts'

export const PersonContext = createContext<Person | undefined>(undefined)

export function usePerson(): Person {
  const person = useContext(PersonContext)
  if (!person) throw new Error('a page is shown to a person who is signed in')
  return person
}

/** True when the portal's token for this person holds one of these delegated permissions of the directory API. */
export function useHas(...permissions: readonly string[]): boolean {
  const held = usePerson().permissions
  return permissions.some((name) => held.has(name))
}
