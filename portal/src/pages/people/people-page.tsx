import { Link } from '@tanstack/react-router'
import { UserPlus } from 'lucide-react'
import { useState } from 'react'
import { isWhole, peoplePath, type User } from '../../api/directory.ts'
import { type Change, ChangeDrawer } from '../../change/change-drawer.tsx'
import { type ListOf, ListPage, type ShownRows } from '../../directory/list-page.tsx'
import { useReads } from '../../session/readable.tsx'
import { useRight } from '../../session/rights.ts'
import { selectNone, useSelected } from '../../shell/selected.ts'
import { t } from '../../texts/index.ts'
import { Avatar, Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { Unknown, UnknownHint } from '../../ui/unknown.tsx'
import { CreatePerson } from './create-person.tsx'
import { describeStateChange } from './person-changes.ts'

const columns: readonly Column<User>[] = [
  {
    key: 'name',
    header: t.directory.name,
    cell: ({ id, displayName }) => (
      <span className="object-link">
        <Avatar name={displayName ?? '?'} />
        <Link to="/people/$id" params={{ id }} className="row-link truncate">
          {displayName ?? t.directory.unnamed}
        </Link>
      </span>
    ),
  },
  {
    key: 'signIn',
    header: t.persons.signInName,
    cell: ({ userPrincipalName }) => <span className="quiet">{userPrincipalName}</span>,
  },
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
  {
    key: 'state',
    header: t.directory.state,
    width: '160px',
    cell: (user) => <PersonState user={user} />,
  },
]

const list: ListOf<User> = {
  texts: t.persons,
  icon: UserPlus,
  create: { label: t.persons.create, right: 'createUser', needs: t.persons.creating },
  pathOf: peoplePath,
  columns,
  states: t.persons.states,
  types: t.persons.types,
  restore: { right: 'deleteUser', kind: 'user' },
}

/** Readers without a directory role see names alone: for them these would be empty in each row. */
const hiddenColumns: readonly string[] = ['job', 'department']
const namesAlone = { ...list, columns: columns.filter(({ key }) => !hiddenColumns.includes(key)) }

export function PeoplePage() {
  return (
    <ListPage
      list={useReads('directory') ? list : namesAlone}
      renderForm={(form) => <CreatePerson {...form} />}
      renderRows={(rows) => <SelectablePeople {...rows} />}
    />
  )
}

/** The people of the list, of whom several can be enabled or disabled at once. */
function SelectablePeople({ rows, isDeleted, table }: ShownRows<User>) {
  const { selected, select } = useSelected()
  const [change, setChange] = useState<Change>()
  const mayUpdate = useRight('updateUser') && !isDeleted
  const chosen = rows.filter(({ id }) => selected.has(id))
  const begin = (isEnabled: boolean) => setChange(describeStateChange(chosen, isEnabled))
  const labelOf = (key: string) => rows.find(({ id }) => id === key)?.displayName ?? key
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
          <Button size="small" tone="ghost" onClick={() => select(selectNone)}>
            {t.persons.clearSelection}
          </Button>
        </div>
      )}
      {!useReads('directory') && <UnknownHint>{t.persons.unknownHint}</UnknownHint>}
      {table(mayUpdate ? { selected, onSelect: select, labelOf } : undefined)}
      <ChangeDrawer
        change={change}
        onClose={(isApplied) => {
          setChange(undefined)
          if (isApplied) select(selectNone)
        }}
      />
    </>
  )
}

export function PersonState({ user }: { readonly user: Pick<User, 'accountEnabled' | 'userType'> }) {
  return (
    <span className="line">
      {isWhole(user) ? (
        <Badge tone={user.accountEnabled ? 'good' : 'neutral'} hasDot>
          {user.accountEnabled ? t.persons.enabled : t.persons.disabled}
        </Badge>
      ) : (
        <Unknown>{t.persons.stateUnknown}</Unknown>
      )}
      {user.userType === 'Guest' && <Badge tone="warn">{t.persons.guest}</Badge>}
    </span>
  )
}
