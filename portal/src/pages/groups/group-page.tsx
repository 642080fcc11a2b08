import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { Ellipsis, Pencil } from 'lucide-react'
import { useState } from 'react'
import { send } from '../../api/call.ts'
import {
  directoryPath,
  forgetDirectory,
  type Group,
  groupFields,
  type Named,
  ownerFields,
  relationPath,
  useDirectory,
  useDirectoryList,
} from '../../api/directory.ts'
import { type Change, ChangeDrawer } from '../../change/change-drawer.tsx'
import { CarriedRights } from '../../directory/carried-rights.tsx'
import { OwnerList } from '../../directory/owner-list.tsx'
import { RightsImpact } from '../../directory/related-objects.tsx'
import { restoreObject } from '../../directory/restore-object.ts'
import { usePerson } from '../../session/person.tsx'
import { Readable, useReads } from '../../session/readable.tsx'
import { useRight } from '../../session/rights.ts'
import { LazyPart } from '../../shell/lazy-part.tsx'
import { t } from '../../texts/index.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { Menu } from '../../ui/menu.tsx'
import { NeedsRole } from '../../ui/needs-role.tsx'
import { type Crumb, Page, Tabs } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { EditGroup } from './edit-group.tsx'
import { GroupMembers } from './group-members.tsx'
import { GroupKind } from './groups-page.tsx'
import '../../directory/directory.css'

const tabs = ['members', 'owners', 'nesting', 'rights'] as const
type Tab = (typeof tabs)[number]

const crumbs: readonly Crumb[] = [{ label: t.groups.title, link: { to: '/groups' } }]

export function GroupPage() {
  return useReads('directory') ? (
    <ReadGroup />
  ) : (
    <Page title={t.groups.title} crumbs={crumbs}>
      <Readable area="directory">{null}</Readable>
    </Page>
  )
}

function ReadGroup() {
  const { id } = useParams({ from: '/groups/$id' })
  const query = useDirectory<Group>(
    directoryPath(`/groups/${encodeURIComponent(id)}`, { $select: groupFields }),
  )
  if (!query.data)
    return (
      <Page title={t.groups.title} crumbs={crumbs}>
        <Loaded query={query}>{() => null}</Loaded>
      </Page>
    )
  return <KnownGroup group={query.data} />
}

function KnownGroup({ group }: { readonly group: Group }) {
  const { tab = 'members' } = useSearch({ from: '/groups/$id' })
  const owners = useDirectoryList<Named>(relationPath(`/groups/${group.id}/owners`, ownerFields))
  const me = usePerson().id
  const isOwner = owners.query.data?.some(({ id }) => id === me) ?? false
  const mayChange = useRight('changeGroup') || isOwner
  const name = group.displayName ?? t.directory.unnamed
  return (
    <Page
      title={name}
      crumbs={crumbs}
      description={group.description}
      beside={<GroupKind group={group} />}
      actions={<GroupActions group={group} name={name} mayChange={mayChange} isOwner={isOwner} />}
      tabs={
        <Tabs
          label={name}
          items={tabs.map((key) => ({
            label: t.groups[key],
            link: { to: '/groups/$id', params: { id: group.id }, search: { tab: key } },
          }))}
        />
      }
    >
      {showTab(tabs.find((one) => one === tab) ?? 'members', group, mayChange)}
    </Page>
  )
}

function showTab(tab: Tab, group: Group, mayChange: boolean) {
  if (tab === 'owners')
    return <OwnerList set="groups" object={group} hint={t.groups.ownersEmptyHint} mayChange={mayChange} />
  if (tab === 'rights') return <CarriedRights set="groups" id={group.id} hint={t.groups.rightsHint} />
  if (tab === 'nesting')
    return (
      <LazyPart name="nesting" load={() => import('./group-nesting.tsx')} lines={8}>
        {({ GroupNesting }) => <GroupNesting key={group.id} group={group} />}
      </LazyPart>
    )
  return <GroupMembers group={group} mayChange={mayChange} />
}

function GroupActions({
  group,
  name,
  mayChange,
  isOwner,
}: {
  readonly group: Group
  readonly name: string
  readonly mayChange: boolean
  readonly isOwner: boolean
}) {
  const navigate = useNavigate()
  const [change, setChange] = useState<Change>()
  const [isEditing, setEditing] = useState(false)
  const mayDelete = useRight('deleteGroup') || isOwner
  const remove: Change = {
    title: t.groups.deleteTitle(name),
    description: t.groups.deleteImpact,
    differences: [{ label: t.directory.kinds.group, before: name }],
    impact: <RightsImpact groupId={group.id} isLoss />,
    isDanger: true,
    confirmLabel: t.groups.deleteConfirm,
    doneText: t.groups.deleted,
    async apply() {
      await send('DELETE', `/v1.0/groups/${group.id}`)
      await navigate({ to: '/groups' })
      await forgetDirectory()
    },
    undo: restoreObject('group', group),
  }
  return (
    <>
      {mayChange ? (
        <Button onClick={() => setEditing(true)}>
          <Pencil size={14} aria-hidden />
          {t.groups.edit}
        </Button>
      ) : (
        <NeedsRole right="changeGroup" what={t.groups.changing} />
      )}
      {mayDelete && (
        <Menu
          trigger={
            <IconButton label={t.directory.actions} tone="plain">
              <Ellipsis size={16} />
            </IconButton>
          }
          items={[{ label: t.groups.delete, isDanger: true, onSelect: () => setChange(remove) }]}
        />
      )}
      <ChangeDrawer change={change} onClose={() => setChange(undefined)} />
      <EditGroup group={group} isOpen={isEditing} onClose={() => setEditing(false)} />
    </>
  )
}
