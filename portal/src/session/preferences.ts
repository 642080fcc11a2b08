export type Theme = 'system' | 'light' | 'dark'
export type Density = 'comfortable' | 'compact'

export interface Preferences {
  readonly theme: Theme
  readonly density: Density
}

const key = 'masquerade.preferences'
const usual: Preferences = { theme: 'system', density: 'comfortable' }
const listeners = new Set<() => void>()
let current = read()

function read(): Preferences {
  try {
    return { ...usual, ...(JSON.parse(localStorage.getItem(key) ?? '{}') as Partial<Preferences>) }
  } catch {
    return usual
  }
}

export function getPreferences(): Preferences {
  return current
}

export function setPreferences(change: Partial<Preferences>): void {
  current = { ...current, ...change }
  localStorage.setItem(key, JSON.stringify(current))
  applyPreferences()
  for (const listener of listeners) listener()
}

export function onPreferences(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function applyPreferences(): void {
  const { dataset } = document.documentElement
  if (current.theme === 'system') delete dataset.theme
  else dataset.theme = current.theme
  dataset.density = current.density
}
