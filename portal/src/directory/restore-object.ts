import { send } from '../api/call.ts'
import { forgetDirectory, type Named } from '../api/directory.ts'
import type { Change } from '../change/change-drawer.tsx'
import { t } from '../texts/index.ts'

export type Restorable = 'user' | 'group' | 'application'

/** Brings a deleted object back, with its memberships. */
export function restoreObject(kind: Restorable, { id, displayName, userPrincipalName }: Named): Change {
  const name = displayName ?? id
  return {
    title: t.directory.restoreTitle(name),
    differences: [{ label: t.directory.kinds[kind], after: userPrincipalName ?? name }],
    impact: t.directory.restoreImpact[kind],
    confirmLabel: t.directory.restore,
    doneText: t.directory.restored(t.directory.kinds[kind].toLowerCase()),
    async apply() {
      await send('POST', `/v1.0/directory/deletedItems/${id}/restore`)
      await forgetDirectory()
    },
  }
}
