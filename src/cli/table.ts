const invisible = /^[\p{Mn}\p{Me}\p{Cf}]$/u
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]$/u
const dangerous = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** Escapes control characters: rows are data of others, which must not command the terminal nor turn its text around. */
export function showText(text: string): string {
  return text.replaceAll(dangerous, (char) => {
    if (char === '\n') return '\\n'
    const code = char.codePointAt(0) ?? 0
    const hex = code.toString(16).toUpperCase()
    return code < 0x80 ? `\\x${hex.padStart(2, '0')}` : `\\u${hex.padStart(4, '0')}`
  })
}

const longestStatement = 300

/** A statement of a plan in one line; the end of a long one is left out, and `--json` has it. */
export function showStatement(sql: string): string {
  const line = showText(sql.replaceAll(/\s+/g, ' '))
  return line.length > longestStatement ? `${line.slice(0, longestStatement - 1)}…` : line
}

/** Pads the cells of each column to one width; the columns in `right` stand to the right. */
export function alignColumns(
  rows: readonly (readonly string[])[],
  right: ReadonlySet<number> = new Set(),
): string[][] {
  const widths: number[] = []
  for (const row of rows)
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, displayWidth(cell))
  return rows.map((row) =>
    row.map((cell, at) => {
      const gap = ' '.repeat((widths[at] ?? 0) - displayWidth(cell))
      return right.has(at) ? gap + cell : cell + gap
    }),
  )
}

/** How many columns of a terminal the text takes. */
export function displayWidth(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  let width = 0
  for (const char of text) width += invisible.test(char) ? 0 : wide.test(char) ? 2 : 1
  return width
}

/** Rows under a header, or a sentence where there are none. */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  empty: string,
): string {
  return rows.length === 0 ? `${empty}\n` : renderRows([header, ...rows])
}

/** Rows as lines of aligned columns, one line for each. */
export function renderRows(rows: readonly (readonly string[])[], right?: ReadonlySet<number>): string {
  const shown = rows.map((row) => row.map(showText))
  return alignColumns(shown, right)
    .map((row) => `${row.join('  ').trimEnd()}\n`)
    .join('')
}
