import { sendBatch, throwRefused } from '../../api/batch.ts'
import { send } from '../../api/call.ts'
import { forgetDirectory, type Named, type User } from '../../api/directory.ts'
import type { Change } from '../../change/change-drawer.tsx'
import { restoreObject } from '../../directory/restore-object.ts'
import { t } from '../../texts/index.ts'

const shownNames = 12

/** Enables or disables accounts, in few requests however many they are. */
export function describeStateChange(users: readonly User[], isEnabled: boolean): Change {
  const rest = users.length - shownNames
  const words = (isOn: boolean | null) =>
    isOn === null ? t.states.unknown : isOn ? t.persons.enabled : t.persons.disabled
  return {
    title: isEnabled ? t.persons.enableTitle(users.length) : t.persons.disableTitle(users.length),
    differences: [
      ...users.slice(0, shownNames).map((user) => ({
        label: user.displayName ?? user.userPrincipalName,
        before: words(user.accountEnabled),
        after: words(isEnabled),
      })),
      ...(rest > 0 ? [{ label: t.persons.selected(rest), after: words(isEnabled) }] : []),
    ],
    impact: isEnabled ? t.persons.enableImpact : t.persons.disableImpact,
    isDanger: !isEnabled,
    confirmLabel: isEnabled ? t.persons.enable : t.persons.disable,
    doneText: isEnabled ? t.persons.enabledDone(users.length) : t.persons.disabledDone(users.length),
    apply: () => setEnabled(users, isEnabled),
    undo: {
      impact: isEnabled ? t.persons.disableImpact : t.persons.enableImpact,
      apply: () =>
        setEnabled(
          users.filter(({ accountEnabled }) => accountEnabled !== isEnabled),
          !isEnabled,
        ),
    },
  }
}

async function setEnabled(users: readonly User[], isEnabled: boolean): Promise<void> {
  const requests = users.map(({ id }) => ({
    method: 'PATCH',
    url: `/users/${id}`,
    body: { accountEnabled: isEnabled },
  }))
  const outcomes = await sendBatch(requests)
  await forgetDirectory()
  throwRefused(outcomes)
}

export function deletePerson(user: Named): Change {
  const name = user.displayName ?? user.id
  return {
    title: t.persons.deleteTitle(name),
    differences: [{ label: t.persons.account, before: user.userPrincipalName ?? name }],
    impact: t.persons.deleteImpact,
    isDanger: true,
    confirmLabel: t.persons.deleteConfirm,
    doneText: t.persons.deleted,
    async apply() {
      await send('DELETE', `/v1.0/users/${user.id}`)
    },
    undo: restoreObject('user', user),
  }
}

export function revokeSignIns(user: Named): Change {
  return {
    title: t.persons.revokeTitle(user.displayName ?? user.id),
    differences: [],
    impact: t.persons.revokeImpact,
    isDanger: true,
    confirmLabel: t.persons.revokeConfirm,
    doneText: t.persons.revoked,
    async apply() {
      await send('POST', `/v1.0/users/${user.id}/revokeSignInSessions`)
      await forgetDirectory()
    },
  }
}
