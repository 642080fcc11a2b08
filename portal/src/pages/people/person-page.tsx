import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { Ellipsis, Pencil } from 'lucide-react'
import { useState } from 'react'
import { directoryPath, forgetDirectory, type User, useDirectory, userFields } from '../../api/directory.ts'
import { type Change, ChangeDrawer } from '../../change/change-drawer.tsx'
import { type Secret, SecretDialog } from '../../directory/secret-dialog.tsx'
import { usePerson } from '../../session/person.tsx'
import { Readable, type ReadableArea } from '../../session/readable.tsx'
import { type Right, useRight } from '../../session/rights.ts'
import { t } from '../../texts/index.ts'
import { Avatar } from '../../ui/badge.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { Menu, type MenuItem } from '../../ui/menu.tsx'
import { NeedsRole } from '../../ui/needs-role.tsx'
import { type Crumb, Page, Tabs } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { EditPerson } from './edit-person.tsx'
import { readInvitation } from './invitation.ts'
import { PersonState } from './people-page.tsx'
import { PersonApplications } from './person-applications.tsx'
import { deletePerson, describeStateChange, revokeSignIns } from './person-changes.ts'
import { PersonExtensions } from './person-extensions.tsx'
import { PersonGroups } from './person-groups.tsx'
import { PersonProfile } from './person-profile.tsx'
import { PersonRights } from './person-rights.tsx'
import { PersonSignIns } from './person-sign-ins.tsx'
import { SetPassword } from './set-password.tsx'
import '../../directory/directory.css'

const tabs = {
  profile: PersonProfile,
  groups: PersonGroups,
  rights: PersonRights,
  applications: PersonApplications,
  signIns: PersonSignIns,
  extensions: PersonExtensions,
} as const

export type PersonTab = keyof typeof tabs

const areas: Partial<Record<PersonTab, ReadableArea>> = {
  groups: 'directory',
  rights: 'directory',
  applications: 'directory',
  signIns: 'logs',
  extensions: 'directory',
}

export function PersonPage() {
  const { id } = useParams({ from: '/people/$id' })
  // The own account is read whole by everyone.
  const path = usePerson().id === id ? '/me' : `/users/${encodeURIComponent(id)}`
  const query = useDirectory<User>(directoryPath(path, { $select: userFields }))
  const crumbs: readonly Crumb[] = [{ label: t.persons.title, link: { to: '/people' } }]
  if (!query.data)
    return (
      <Page title={t.persons.title} crumbs={crumbs}>
        <Loaded query={query}>{() => null}</Loaded>
      </Page>
    )
  return <KnownPerson user={query.data} crumbs={crumbs} />
}

function KnownPerson({ user, crumbs }: { readonly user: User; readonly crumbs: readonly Crumb[] }) {
  const { tab = 'profile' } = useSearch({ from: '/people/$id' })
  const Shown = tabs[tab as PersonTab] ?? PersonProfile
  const name = user.displayName ?? user.userPrincipalName
  return (
    <Page
      title={name}
      crumbs={crumbs}
      description={[user.userPrincipalName, user.jobTitle, user.department].filter(Boolean).join(' · ')}
      beside={
        <>
          <Avatar name={name} />
          <PersonState user={user} />
        </>
      }
      actions={<PersonActions user={user} name={name} />}
      tabs={
        <Tabs
          label={name}
          items={(Object.keys(tabs) as PersonTab[]).map((key) => ({
            label: t.persons[key],
            link: { to: '/people/$id', params: { id: user.id }, search: { tab: key } },
          }))}
        />
      }
    >
      {areas[tab as PersonTab] ? (
        <Readable area={areas[tab as PersonTab] ?? 'directory'}>
          <Shown user={user} />
        </Readable>
      ) : (
        <Shown user={user} />
      )}
    </Page>
  )
}

function PersonActions({ user, name }: { readonly user: User; readonly name: string }) {
  const navigate = useNavigate()
  const [change, setChange] = useState<Change>()
  const [secret, setSecret] = useState<Secret>()
  const [open, setOpen] = useState<'edit' | 'password'>()
  const isOwn = usePerson().id === user.id
  const may: Record<'updateUser' | 'setPassword' | 'deleteUser', boolean> = {
    updateUser: useRight('updateUser'),
    setPassword: useRight('setPassword') && !isOwn,
    deleteUser: useRight('deleteUser'),
  }
  const item = (
    right: keyof typeof may & Right,
    label: string,
    onSelect: () => void,
    isDanger = false,
  ): MenuItem[] => (may[right] ? [{ label, onSelect, isDanger }] : [])
  const leave = deletePerson(user)
  const items: MenuItem[] = [
    ...item('updateUser', user.accountEnabled ? t.persons.disable : t.persons.enable, () =>
      setChange(describeStateChange([user], !user.accountEnabled)),
    ),
    ...item('setPassword', t.persons.setPassword, () => setOpen('password')),
    ...item('setPassword', t.persons.inviteAction, () =>
      setChange(describeInvitation(user, name, setSecret)),
    ),
    ...item('setPassword', t.persons.revoke, () => setChange(revokeSignIns(user))),
    ...item(
      'deleteUser',
      t.persons.delete,
      () => setChange({ ...leave, apply: () => leave.apply().then(goBack) }),
      true,
    ),
  ]
  const goBack = async () => {
    await navigate({ to: '/people' })
    await forgetDirectory()
  }
  return (
    <>
      {may.updateUser ? (
        <Button onClick={() => setOpen('edit')}>
          <Pencil size={14} aria-hidden />
          {t.persons.edit}
        </Button>
      ) : (
        <NeedsRole right="updateUser" what={t.persons.editing} />
      )}
      {items.length > 0 && (
        <Menu
          trigger={
            <IconButton label={t.directory.actions} tone="plain">
              <Ellipsis size={16} />
            </IconButton>
          }
          items={items}
        />
      )}
      <ChangeDrawer change={change} onClose={() => setChange(undefined)} />
      <EditPerson user={user} isOpen={open === 'edit'} onClose={() => setOpen(undefined)} />
      <SetPassword user={user} isOpen={open === 'password'} onClose={() => setOpen(undefined)} />
      <SecretDialog secret={secret} onClose={() => setSecret(undefined)} />
    </>
  )
}

function describeInvitation(user: User, name: string, show: (secret: Secret) => void): Change {
  return {
    title: t.persons.inviteTitle(name),
    differences: [],
    impact: t.persons.inviteImpact,
    confirmLabel: t.persons.inviteConfirm,
    doneText: t.persons.inviteDone,
    apply: async () => show(await readInvitation(user.id, name)),
  }
}
