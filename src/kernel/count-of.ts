/** `1 rule`, `2 rules`, `1,024 rules`. */
export function countOf(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? noun : nouns}`
}
