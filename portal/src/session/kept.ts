const owner = 'masquerade.person'
/** Of the browser rather than of a person. */
const shared = ['masquerade.preferences']

/** True in a browser whose last person has not signed out. */
export function hasPerson(): boolean {
  return localStorage.getItem(owner) !== null
}

/** Removes everything that pages kept in this browser for a person: statements, exposures and counts of databases. */
export function forgetPerson(): void {
  const ours = Object.keys(localStorage).filter(
    (key) => key.startsWith('masquerade.') && !shared.includes(key),
  )
  for (const key of ours) localStorage.removeItem(key)
}

/** The next person at this browser finds nothing of the last one, who may have left without signing out. */
export function keepFor(personId: string): void {
  if (localStorage.getItem(owner) !== personId) forgetPerson()
  localStorage.setItem(owner, personId)
}
