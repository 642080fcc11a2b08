/** Hands rows to the browser as a CSV file. A cell that a spreadsheet would take for a formula gets a quote before it. */
export function exportCsv(
  name: string,
  header: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const quote = (cell: string) => `"${(/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell).replaceAll('"', '""')}"`
  const text = [header, ...rows].map((row) => row.map(quote).join(',')).join('\r\n')
  const address = URL.createObjectURL(new Blob([`\uFEFF${text}\r\n`], { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), 1000)
}
