import { useSyncExternalStore } from 'react'
import { ChangeDrawer } from './change-drawer.tsx'
import { getOffered, onOffered, setOffered } from './offered-undo.ts'

/** The drawer of the change that the reader wants to take back. It stands beside the pages: they may be left by then. */
export function UndoDrawer() {
  const change = useSyncExternalStore(onOffered, getOffered)
  return <ChangeDrawer change={change} onClose={() => setOffered(undefined)} />
}
