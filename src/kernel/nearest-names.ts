const mostSuggestions = 3

/** Suggestions for a mistyped name: those that differ only by case first, then by the number of edits. */
export function nearestNames(wanted: string, existing: readonly string[]): string[] {
  const furthest = Math.min(wanted.length - 1, Math.max(2, Math.floor(wanted.length / 3)))
  return existing
    .map((name) => ({ name, distance: distanceBetween(wanted.toLowerCase(), name.toLowerCase(), furthest) }))
    .filter(({ distance }) => distance <= furthest)
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, mostSuggestions)
    .map(({ name }) => name)
}

/** Levenshtein's distance, or anything above `furthest` when it is greater than that. */
function distanceBetween(a: string, b: string, furthest: number): number {
  if (Math.abs(a.length - b.length) > furthest) return furthest + 1
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, substituted))
    }
    row = next
  }
  return row[b.length] ?? 0
}
