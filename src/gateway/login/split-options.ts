/** The words of `options` as PostgreSQL splits them: at white space of ASCII, which a backslash keeps in a word. */
export function splitWords(options: string): string[] {
  const words = options.match(/(?:\\.|[^ \t\n\v\f\r\\])+/gs) ?? []
  return words.map((word) => word.replace(/\\(.)/gs, '$1'))
}
