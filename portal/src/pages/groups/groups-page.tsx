import { Link } from '@tanstack/react-router'
import { UsersRound } from 'lucide-react'
import { type Group, groupsPath } from '../../api/directory.ts'
import { type ListOf, ListPage } from '../../directory/list-page.tsx'
import { ObjectIcon } from '../../directory/object-link.tsx'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { DateText } from '../../ui/date.tsx'
import { CreateGroup } from './create-group.tsx'

const columns: readonly Column<Group>[] = [
  {
    key: 'name',
    header: t.directory.name,
    cell: (group) => (
      <span className="object-link">
        <ObjectIcon object={{ ...group, '@odata.type': '#vendor.graph.group' }} />
        <Link to="/groups/$id" params={{ id: group.id }} className="row-link truncate">
          {group.displayName ?? t.directory.unnamed}
        </Link>
      </span>
    ),
  },
  {
    key: 'description',
    header: t.directory.description,
    cell: ({ description }) => <span className="quiet">{description ?? '–'}</span>,
  },
  { key: 'kind', header: t.groups.kind, cell: (group) => <GroupKind group={group} />, width: '220px' },
  {
    key: 'created',
    header: t.directory.created,
    cell: ({ createdDateTime }) => <DateText at={createdDateTime} isRelative />,
    width: '130px',
  },
]

export function GroupKind({ group }: { readonly group: Group }) {
  return (
    <span className="line">
      <Badge>{group.groupTypes.includes('Unified') ? t.groups.unified : t.groups.security}</Badge>
      {group.isAssignableToRole && <Badge tone="accent">{t.groups.holdsRoles}</Badge>}
    </span>
  )
}

const list: ListOf<Group> = {
  texts: t.groups,
  icon: UsersRound,
  area: 'directory',
  create: { label: t.groups.create, right: 'changeGroup', needs: t.groups.changing },
  pathOf: groupsPath,
  columns,
  states: t.directory.states,
  restore: { right: 'deleteGroup', kind: 'group' },
}

export function GroupsPage() {
  return <ListPage list={list} renderForm={(form) => <CreateGroup {...form} />} />
}
