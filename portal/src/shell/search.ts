/**
 * The named texts of an address's query; anything else in it is ignored. The router passes on whatever this leaves out, so
 * values that are no texts become undefined.
 */
export function textsOf<Name extends string>(
  search: Readonly<Record<string, unknown>>,
  ...names: readonly Name[]
): { [key in Name]?: string | undefined } {
  const found: { [key in Name]?: string | undefined } = {}
  for (const name of names) {
    const value = search[name]
    if (typeof value === 'string' || typeof value === 'number') found[name] = String(value)
    else if (value !== undefined) found[name] = undefined
  }
  return found
}

const name = '[^/\\\\?#%\\p{Cc}]+'
const scopeForm = new RegExp(
  `^/subscriptions/${name}(/resourceGroups/${name}(/providers/[\\w.]+/servers/${name}(/databases/${name})?)?)?$`,
  'iu',
)

/**
 * The scope of an address's query; a text that is none is ignored. A link must not show one scope and lead requests to
 * another, as `/subscriptions/a/..` would: browsers resolve it to the root.
 */
export function scopeIn(search: Readonly<Record<string, unknown>>): { scope?: string | undefined } {
  const { scope = '' } = textsOf(search, 'scope')
  const isScope = scopeForm.test(scope) && !scope.split('/').some((part) => /^\.+$/.test(part))
  return { scope: isScope ? scope : undefined }
}

/** Names as one text of an address, whatever characters they have. */
export function joinNames(names: Iterable<string>): string {
  return [...names].map(encodeURIComponent).join(',')
}

/** A name that is spelt wrongly, as a cut link has it, is left out. */
export function splitNames(text: string): readonly string[] {
  return text.split(',').flatMap((name) => {
    try {
      return name === '' ? [] : [decodeURIComponent(name)]
    } catch {
      return []
    }
  })
}
