import type { Note } from '../../../contracts/note.ts'

/** Notes of one code that are told in full. A masked role can cause thousands, of views for example. */
const mostOfCode = 20

/** Keeps the first notes of each code, and counts the rest in one more: a flood of one kind hides no other. */
export function capNotes(notes: readonly Note[]): Note[] {
  const counts = new Map<Note['code'], number>()
  const kept = notes.filter(({ code }) => {
    const count = (counts.get(code) ?? 0) + 1
    counts.set(code, count)
    return count <= mostOfCode
  })
  const rests = [...counts].map(([code, count]) => ({ code, rest: count - mostOfCode }))
  return [...kept, ...rests.filter(({ rest }) => rest > 0).map(countRest)]
}

function countRest({ code, rest }: { readonly code: Note['code']; readonly rest: number }): Note {
  return { code, target: `${rest} more`, message: `${rest} more notes of this kind are not listed.` }
}

const mostSentences = 10

/** Joins sentences to a reason, and counts those that are left out. */
export function joinReasons(sentences: readonly string[]): string {
  const rest = sentences.length - mostSentences
  const more = rest > 0 ? [`${rest} more are not listed.`] : []
  return [...sentences.slice(0, mostSentences), ...more].join(' ')
}
