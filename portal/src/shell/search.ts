/** The named texts of an address's query; anything else in it is ignored. */
export function textsOf<Name extends string>(
  search: Readonly<Record<string, unknown>>,
  ...names: readonly Name[]
): { [key in Name]?: string | undefined } {
  const found: { [key in Name]?: string | undefined } = {}
  for (const name of names) {
    const value = search[name]
    if (typeof value === 'string' || typeof value === 'number') found[name] = String(value)
  }
  return found
}
