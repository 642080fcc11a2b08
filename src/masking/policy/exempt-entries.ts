import { refuseContent } from '../faults.ts'

const longestEntry = 320
const mostEntries = 1000

/** One string with semicolons, each entry a database role, or a user or group of the directory. */
export function readExemptPrincipals(text: string): string {
  const entries = text
    .split(';')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
  const unique = [...new Set(entries)]
  const reason =
    unique.length > mostEntries
      ? `may have at most ${mostEntries} entries`
      : unique.some((entry) => entry.length > longestEntry)
        ? `may have entries of at most ${longestEntry} characters`
        : unique.some((entry) => /[\p{Cc}\p{Cs}]/u.test(entry))
          ? 'may not hold control characters'
          : undefined
  if (reason) refuseContent('properties.exemptPrincipals', reason)
  return unique.join(';')
}

export function splitEntries(exemptPrincipals: string): string[] {
  return exemptPrincipals.split(';').filter((entry) => entry !== '')
}
