import type { User } from '../../api/directory.ts'
import { CarriedRights } from '../../directory/carried-rights.tsx'
import { t } from '../../texts/index.ts'

export function PersonRights({ user }: { readonly user: User }) {
  return <CarriedRights set="users" id={user.id} hint={t.persons.rightsHint} />
}
