import { send } from '../../api/call.ts'
import type { Secret } from '../../directory/secret-dialog.tsx'
import { t } from '../../texts/index.ts'

/** Replaces the person's password by one that works once, and returns it to be shown. */
export async function readInvitation(id: string, name: string): Promise<Secret> {
  const { body } = await send<{ password: string; expirationDateTime: string }>(
    'POST',
    `/v1.0/users/${id}/invite`,
    { body: {} },
  )
  return { title: t.persons.invitation(name), text: body.password, endsAt: body.expirationDateTime }
}
