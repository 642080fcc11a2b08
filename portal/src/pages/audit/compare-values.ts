import type { ValueChange } from './entry-drawer.tsx'

/** The values that differ between two JSON values, each by its path. */
export function compareValues(before: unknown, after: unknown): readonly ValueChange[] {
  const [was, is] = [flatten(before), flatten(after)]
  return [...new Set([...was.keys(), ...is.keys()])]
    .filter((name) => was.get(name) !== is.get(name))
    .toSorted()
    .map((name) => ({ name, before: was.get(name), after: is.get(name) }))
}

function flatten(value: unknown, path = '', found = new Map<string, string>()): Map<string, string> {
  if (value === undefined || (value === null && path === '')) return found
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    for (const [name, part] of Object.entries(value))
      flatten(part, path === '' ? name : `${path}.${name}`, found)
  else found.set(path || 'value', typeof value === 'string' ? value : JSON.stringify(value))
  return found
}
