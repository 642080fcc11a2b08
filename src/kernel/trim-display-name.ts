const unseen = /[\s\p{Cc}\p{Cf}\u115f\u1160\u2800\u3164\uffa0]/u

/**
 * A display name that a person gives to find an object by, without blanks and invisible characters at its ends: another
 * object could have the name with them, and the person would not see the difference.
 */
export function trimDisplayName(name: string): string {
  // No pattern for both ends: one that repeats takes quadratic time on a long run of blanks.
  const characters = [...name]
  const isSeen = (character: string) => !unseen.test(character)
  return characters.slice(characters.findIndex(isSeen), characters.findLastIndex(isSeen) + 1).join('')
}
