import { forgetDrafts } from './drafts.ts'

const owner = 'masquerade.person'
const claims = 'masquerade.claims'
/** Of the browser rather than of a person. */
const shared = ['masquerade.preferences']

/** The person who is signed in, by the claims of their tokens. */
export interface Person {
  readonly id: string
  readonly tenantId: string
  readonly displayName: string
  readonly userPrincipalName: string
  /** Delegated permissions of the portal's token. */
  readonly permissions: ReadonlySet<string>
  /** Template ids of the directory roles. */
  readonly directoryRoles: ReadonlySet<string>
}

/** True in a browser whose last person has not signed out. */
export function hasPerson(): boolean {
  return readStay() !== null
}

/**
 * The stay of the last person in this browser: the object id, and a random value that is another one after each sign-out. Null after a
 * sign-out. Tabs of one stay go on together; a tab that slept through a sign-out knows by the value that its own stay is over.
 */
export function readStay(): string | null {
  return localStorage.getItem(owner)
}

/** The object id of the person whose stay it is. */
export function personOf(stay: string | null): string | null {
  return stay === null ? null : (stay.split(' ')[0] ?? null)
}

/**
 * Calls back with the present stay when another tab has changed it, and each time that this tab may have slept: the browser tells a
 * tab that sleeps nothing of such changes.
 */
export function watchStay(look: (stay: string | null) => void): void {
  addEventListener('storage', ({ key, newValue }) => {
    if (key === null || key === owner) look(newValue)
  })
  const lookAgain = () => look(readStay())
  addEventListener('focus', lookAgain)
  addEventListener('pageshow', lookAgain)
  document.addEventListener('visibilitychange', lookAgain)
}

/** False in a browser that the person has signed out of, or another person has signed in to since: a tab may be left open. */
export function isOwner(personId: string): boolean {
  return personOf(readStay()) === personId
}

/** The last person by the claims of their last token, which hold no secret; undefined after a sign-out. */
export function readKeptPerson(): Person | undefined {
  try {
    const kept = JSON.parse(localStorage.getItem(claims) ?? 'null') as KeptClaims | null
    if (!kept || !isOwner(kept.id)) return undefined
    return {
      ...kept,
      permissions: new Set(kept.permissions),
      directoryRoles: new Set(kept.directoryRoles),
    }
  } catch {
    return undefined
  }
}

type KeptClaims = Omit<Person, 'permissions' | 'directoryRoles'> & {
  readonly permissions: readonly string[]
  readonly directoryRoles: readonly string[]
}

/** Removes everything that pages kept in this browser for a person: statements, claims, and the drafts of this tab. */
export function forgetPerson(): void {
  const ours = Object.keys(localStorage).filter(
    (key) => key.startsWith('masquerade.') && !shared.includes(key),
  )
  for (const key of ours) localStorage.removeItem(key)
  forgetDrafts()
}

/**
 * Returns the stay of the person, which begins where the last one signed out or was another. The next person at this browser finds
 * nothing of the last one, who may have left without signing out.
 */
export function keepFor(person: Person): string {
  if (!isOwner(person.id)) forgetPerson()
  // Another tab may have signed in this person: the drafts of the last one are left here.
  forgetDrafts(person.id)
  const stay = readStay() ?? `${person.id} ${crypto.randomUUID()}`
  localStorage.setItem(owner, stay)
  localStorage.setItem(claims, writeClaims(person))
  return stay
}

function writeClaims({ permissions, directoryRoles, ...rest }: Person): string {
  return JSON.stringify({ ...rest, permissions: [...permissions], directoryRoles: [...directoryRoles] })
}

/** True when both are the same person with the same rights. */
export function isSamePerson(one: Person, other: Person): boolean {
  return writeClaims(one) === writeClaims(other)
}
