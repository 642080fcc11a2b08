const prefix = 'masquerade.draft '

function keyOf(personId: string, name: string): string {
  return `${prefix}${personId} ${name}`
}

/** The draft of a person under a name in this tab; undefined where there is none. */
export function readDraft(personId: string, name: string): unknown {
  try {
    return JSON.parse(sessionStorage.getItem(keyOf(personId, name)) ?? 'null') ?? undefined
  } catch {
    return undefined
  }
}

/** Keeps a draft as long as the tab is open; undefined removes it. A browser without room for it goes on without. */
export function keepDraft(personId: string, name: string, draft: unknown): void {
  const key = keyOf(personId, name)
  try {
    if (draft === undefined) sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, JSON.stringify(draft))
  } catch {}
}

/** Removes the drafts of this tab, but for those of the person given. */
export function forgetDrafts(exceptId?: string): void {
  const kept = exceptId && keyOf(exceptId, '')
  const ours = Object.keys(sessionStorage).filter(
    (key) => key.startsWith(prefix) && !(kept && key.startsWith(kept)),
  )
  for (const key of ours) sessionStorage.removeItem(key)
}
