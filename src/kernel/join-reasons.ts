const most = 10

/** Joins sentences to a reason, and counts those that are left out. */
export function joinReasons(sentences: readonly string[]): string {
  const rest = sentences.length - most
  const more = rest > 0 ? [`${rest} more are not listed.`] : []
  return [...sentences.slice(0, most), ...more].join(' ')
}
