const invisible = /^[\p{Mn}\p{Me}\p{Cf}]$/u
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]$/u

/** How many columns of a terminal the text takes. */
export function displayWidth(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  let width = 0
  for (const char of text) width += invisible.test(char) ? 0 : wide.test(char) ? 2 : 1
  return width
}

const dangerous = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** Rows are others' data: nothing in them reaches the terminal as a command to it, or turns its text around. */
export function showControls(text: string): string {
  return text.replaceAll(dangerous, (char) => {
    const code = char.codePointAt(0) ?? 0
    const hex = code.toString(16).toUpperCase()
    if (char === '\r') return '\\r'
    return code < 0x80 ? `\\x${hex.padStart(2, '0')}` : `\\u${hex.padStart(4, '0')}`
  })
}
