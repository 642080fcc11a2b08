/**
 * The one folding of display names, wherever a name that a person gives decides on an object. Names that differ in case or
 * composition alone fold alike, and so do all that JavaScript, or PostgreSQL in any locale, lowers to the same text: `İ`,
 * `I`, `ı` and `i` are one letter, and so are `Σ`, `σ` and `ς`. Compare two results of it, never one with SQL's `lower`.
 */
export function foldDisplayName(name: string): string {
  const capitals = name.normalize('NFD').toLowerCase().toUpperCase().normalize('NFD')
  // Foldings keep or drop the dot of `İ`.
  return capitals.replaceAll(/I\p{M}+/gu, (letter) => letter.replaceAll('\u0307', ''))
}
