import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { UserPlus, UserRoundX } from 'lucide-react'
import { useState } from 'react'
import { peoplePath, type User, useDirectoryList } from '../../api/directory.ts'
import type { Change } from '../../change/change-drawer.tsx'
import { ChangeDrawer } from '../../change/change-drawer.tsx'
import { useRight } from '../../session/rights.ts'
import { t } from '../../texts/index.ts'
import { Avatar, Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { DateText } from '../../ui/date.tsx'
import { useDebounced } from '../../ui/debounced.ts'
import { SearchField, SelectField } from '../../ui/field.tsx'
import { NeedsRole } from '../../ui/needs-role.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { CreatePerson } from './create-person.tsx'
import { describeStateChange, restorePerson } from './person-changes.ts'
import '../../directory/directory.css'

const listHeight = 'calc(100dvh - 260px)'

export function PeoplePage() {
  const filter = useSearch({ from: '/people' })
  const navigate = useNavigate({ from: '/people' })
  const settled = useDebounced(filter)
  const { query, more, isStale } = useDirectoryList<User>(peoplePath(settled))
  const [isCreating, setCreating] = useState(false)
  const mayCreate = useRight('createUser')
  const setFilter = (change: Partial<Record<'q' | 'state' | 'type', string>>) => {
    const next = Object.entries({ ...filter, ...change }).filter(
      ([, value]) => value !== '' && value !== 'all',
    )
    void navigate({ search: Object.fromEntries(next), replace: true })
  }
  return (
    <Page
      title={t.persons.title}
      description={t.persons.description}
      actions={
        mayCreate ? (
          <Button tone="primary" onClick={() => setCreating(true)}>
            <UserPlus size={14} aria-hidden />
            {t.persons.create}
          </Button>
        ) : (
          <NeedsRole right="createUser" what={t.persons.creating} />
        )
      }
    >
      <div className="filters">
        <SearchField
          label={t.persons.search}
          value={filter.q ?? ''}
          onChange={(event) => setFilter({ q: event.target.value })}
        />
        <SelectField
          label={t.persons.state}
          value={filter.state ?? 'all'}
          choices={choicesOf(t.persons.states)}
          onChange={(state) => setFilter({ state })}
        />
        <SelectField
          label={t.persons.type}
          value={filter.type ?? 'all'}
          choices={choicesOf(t.persons.types)}
          onChange={(type) => setFilter({ type })}
        />
      </div>
      <Loaded query={query}>
        {(rows) => (
          <div className={isStale ? 'stack is-stale' : 'stack'}>
            <PeopleTable rows={rows} more={more} isDeleted={settled.state === 'deleted'} />
          </div>
        )}
      </Loaded>
      <CreatePerson isOpen={isCreating} onClose={() => setCreating(false)} />
    </Page>
  )
}

function choicesOf<Value extends string>(names: Readonly<Record<Value, string>>) {
  return (Object.keys(names) as Value[]).map((value) => ({ value: value as string, label: names[value] }))
}

function PeopleTable({
  rows,
  more,
  isDeleted,
}: {
  readonly rows: readonly User[]
  readonly more: { readonly has: boolean; readonly isLoading: boolean; readonly load: () => void }
  readonly isDeleted: boolean
}) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [change, setChange] = useState<Change>()
  const mayUpdate = useRight('updateUser') && !isDeleted
  const mayRestore = useRight('deleteUser')
  const chosen = rows.filter(({ id }) => selected.has(id))
  const begin = (isEnabled: boolean) => setChange(describeStateChange(chosen, isEnabled))
  const columns = isDeleted
    ? [...identity(false), deletedColumn, ...(mayRestore ? [restoreColumn(setChange)] : [])]
    : [...identity(true), ...work, stateColumn]
  return (
    <>
      {chosen.length > 0 && (
        <div className="selection-bar" role="status">
          <strong>{t.persons.selected(chosen.length)}</strong>
          <Button size="small" onClick={() => begin(false)}>
            {t.persons.disable}
          </Button>
          <Button size="small" onClick={() => begin(true)}>
            {t.persons.enable}
          </Button>
          <Button size="small" tone="ghost" onClick={() => setSelected(new Set())}>
            {t.persons.clearSelection}
          </Button>
        </div>
      )}
      <DataTable
        label={t.persons.title}
        columns={columns}
        rows={rows}
        keyOf={({ id }) => id}
        more={more}
        height={listHeight}
        empty={
          <Empty icon={UserRoundX} title={t.persons.none}>
            {t.persons.noneHint}
          </Empty>
        }
        {...(mayUpdate && {
          selection: {
            selected,
            onSelect: setSelected,
            labelOf: (key: string) => rows.find(({ id }) => id === key)?.displayName ?? key,
          },
        })}
      />
      <ChangeDrawer
        change={change}
        onClose={(isApplied) => {
          setChange(undefined)
          if (isApplied) setSelected(new Set())
        }}
      />
    </>
  )
}

const identity = (isLinked: boolean): readonly Column<User>[] => [
  {
    key: 'name',
    header: t.directory.name,
    cell: ({ id, displayName }) => (
      <span className="object-link">
        <Avatar name={displayName ?? '?'} />
        {isLinked ? (
          <Link to="/people/$id" params={{ id }} className="row-link truncate">
            {displayName ?? t.directory.unnamed}
          </Link>
        ) : (
          <span className="truncate">{displayName}</span>
        )}
      </span>
    ),
  },
  {
    key: 'signIn',
    header: t.persons.signInName,
    cell: ({ userPrincipalName }) => <span className="quiet">{userPrincipalName}</span>,
  },
]

const work: readonly Column<User>[] = [
  {
    key: 'job',
    header: t.persons.jobTitle,
    cell: ({ jobTitle }) => jobTitle ?? <span className="faint">–</span>,
  },
  {
    key: 'department',
    header: t.persons.department,
    cell: ({ department }) => department ?? <span className="faint">–</span>,
  },
]

const stateColumn: Column<User> = {
  key: 'state',
  header: t.persons.state,
  width: '160px',
  cell: (user) => <PersonState user={user} />,
}

const deletedColumn: Column<User> = {
  key: 'deleted',
  header: t.persons.deletedOn,
  cell: ({ deletedDateTime }) => <DateText at={deletedDateTime} isRelative />,
}

function restoreColumn(begin: (change: Change) => void): Column<User> {
  return {
    key: 'restore',
    header: <span className="visually-hidden">{t.directory.actions}</span>,
    isEnd: true,
    width: '110px',
    cell: (user) => (
      <Button size="small" onClick={() => begin(restorePerson(user))}>
        {t.persons.restore}
      </Button>
    ),
  }
}

export function PersonState({ user }: { readonly user: Pick<User, 'accountEnabled' | 'userType'> }) {
  return (
    <span className="line">
      {user.accountEnabled !== undefined && (
        <Badge tone={user.accountEnabled ? 'good' : 'neutral'} hasDot>
          {user.accountEnabled ? t.persons.enabled : t.persons.disabled}
        </Badge>
      )}
      {user.userType === 'Guest' && <Badge tone="warn">{t.persons.guest}</Badge>}
    </span>
  )
}
