import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { UsersRound } from 'lucide-react'
import { useState } from 'react'
import { type Group, groupsPath, useDirectoryList } from '../../api/directory.ts'
import { ObjectIcon } from '../../directory/object-link.tsx'
import { Readable } from '../../session/readable.tsx'
import { useRight } from '../../session/rights.ts'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { DateText } from '../../ui/date.tsx'
import { useDebounced } from '../../ui/debounced.ts'
import { SearchField } from '../../ui/field.tsx'
import { NeedsRole } from '../../ui/needs-role.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { CreateGroup } from './create-group.tsx'
import '../../directory/directory.css'

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

export function GroupsPage() {
  const mayCreate = useRight('changeGroup')
  const [isCreating, setCreating] = useState(false)
  return (
    <Page
      title={t.groups.title}
      description={t.groups.description}
      actions={
        mayCreate ? (
          <Button tone="primary" onClick={() => setCreating(true)}>
            <UsersRound size={14} aria-hidden />
            {t.groups.create}
          </Button>
        ) : (
          <NeedsRole right="changeGroup" what={t.groups.changing} />
        )
      }
    >
      <Readable area="directory">
        <GroupList />
      </Readable>
      <CreateGroup isOpen={isCreating} onClose={() => setCreating(false)} />
    </Page>
  )
}

function GroupList() {
  const { q = '' } = useSearch({ from: '/groups' })
  const navigate = useNavigate({ from: '/groups' })
  const { query, more, isStale } = useDirectoryList<Group>(groupsPath(useDebounced(q)))
  return (
    <Loaded query={query}>
      {(rows) => (
        <>
          <SearchField
            label={t.groups.search}
            value={q}
            onChange={({ target: { value } }) =>
              void navigate({ search: value === '' ? {} : { q: value }, replace: true })
            }
          />
          <div className={isStale ? 'is-stale' : undefined}>
            <DataTable
              label={t.groups.title}
              columns={columns}
              rows={rows}
              keyOf={({ id }) => id}
              more={more}
              height="calc(100dvh - 220px)"
              empty={
                <Empty icon={UsersRound} title={t.groups.none}>
                  {t.groups.noneHint}
                </Empty>
              }
            />
          </div>
        </>
      )}
    </Loaded>
  )
}
