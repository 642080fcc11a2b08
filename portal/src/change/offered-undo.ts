import { t } from '../texts/index.ts'
import type { Change } from './change.ts'

let offered: Change | undefined
const listeners = new Set<() => void>()

export function getOffered(): Change | undefined {
  return offered
}

export function onOffered(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function setOffered(change: Change | undefined): void {
  offered = change
  for (const listener of listeners) listener()
}

/** Opens the drawer with the opposite of a change that was made, wherever the reader is by then. */
export function offerUndo({ title, differences, undo }: Change): void {
  if (!undo) return
  setOffered({
    ...undo,
    title: t.changes.undoTitle(title),
    differences: differences.map(({ label, before, after }) => ({ label, before: after, after: before })),
    confirmLabel: t.changes.undo,
    doneText: t.changes.undone,
  })
}
