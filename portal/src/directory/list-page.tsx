import { useNavigate, useSearch } from '@tanstack/react-router'
import type { LucideIcon } from 'lucide-react'
import { type ReactNode, useRef, useState } from 'react'
import { type Named, useDirectoryList } from '../api/directory.ts'
import { type Change, ChangeDrawer } from '../change/change-drawer.tsx'
import { Readable, type ReadableArea, useReads } from '../session/readable.tsx'
import { type Right, useRight } from '../session/rights.ts'
import { t } from '../texts/index.ts'
import { Button } from '../ui/button.tsx'
import { type Column, DataTable, type Selection } from '../ui/data-table.tsx'
import { DateText } from '../ui/date.tsx'
import { useDebounced } from '../ui/debounced.ts'
import { SearchField, SelectField } from '../ui/field.tsx'
import { NeedsRole } from '../ui/needs-role.tsx'
import { Page } from '../ui/page.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { type Restorable, restoreObject } from './restore-object.ts'
import './directory.css'

/** The filters of a list as its address holds them. `new` opens the form for a new one. */
export interface ListFilter {
  readonly q?: string | undefined
  readonly state?: string | undefined
  readonly type?: string | undefined
  readonly new?: string | undefined
}

interface Words {
  readonly title: string
  readonly description: string
  readonly search: string
  readonly none: string
  readonly noneHint: string
}

export interface ListOf<Row extends Named> {
  readonly texts: Words
  readonly icon: LucideIcon
  /** Undefined: every person may read it. */
  readonly area?: ReadableArea
  readonly create: { readonly label: string; readonly right: Right; readonly needs: string }
  readonly pathOf: (filter: ListFilter) => string
  readonly columns: readonly Column<Row>[]
  readonly states: Readonly<Record<string, string>>
  readonly types?: Readonly<Record<string, string>>
  readonly restore: { readonly right: Right; readonly kind: Restorable }
}

/** Narrows the list of the address; the page that it shows changes without a step in the history. */
function useListFilter() {
  const filter: ListFilter = useSearch({ strict: false })
  const navigate = useNavigate()
  const setFilter = (change: ListFilter) => {
    const isKept = ([, value]: readonly [string, unknown]) =>
      ![undefined, '', 'all'].includes(value as string)
    void navigate({
      to: '.',
      search: (before) =>
        Object.fromEntries(Object.entries({ ...before, ...change }).filter(isKept)) as never,
      replace: true,
    })
  }
  return { filter, setFilter }
}

/** A list of the directory: search, filters, the form for a new one, and deleted ones to restore. */
export function ListPage<Row extends Named>({
  list,
  renderForm,
  renderRows = (rows) => rows.table(),
}: {
  readonly list: ListOf<Row>
  readonly renderForm: (form: { readonly isOpen: boolean; readonly onClose: () => void }) => ReactNode
  /** Draws something beside the table, such as actions on selected rows. */
  readonly renderRows?: (rows: ShownRows<Row>) => ReactNode
}) {
  const { texts, icon: Icon, create, area } = list
  const { filter, setFilter } = useListFilter()
  const mayCreate = useRight(create.right)
  const content = <Rows list={list} filter={filter} onFilter={setFilter} renderRows={renderRows} />
  return (
    <Page
      title={texts.title}
      description={texts.description}
      actions={
        mayCreate ? (
          <Button tone="primary" onClick={() => setFilter({ new: '1' })}>
            <Icon size={14} aria-hidden />
            {create.label}
          </Button>
        ) : (
          <NeedsRole right={create.right} what={create.needs} />
        )
      }
    >
      {area === undefined ? content : <Readable area={area}>{content}</Readable>}
      {renderForm({
        isOpen: mayCreate && filter.new !== undefined,
        onClose: () => setFilter({ new: undefined }),
      })}
    </Page>
  )
}

export interface ShownRows<Row> {
  readonly rows: readonly Row[]
  readonly isDeleted: boolean
  readonly table: (selection?: Selection) => ReactNode
}

function Rows<Row extends Named>({
  list,
  filter,
  onFilter,
  renderRows,
}: {
  readonly list: ListOf<Row>
  readonly filter: ListFilter
  readonly onFilter: (change: ListFilter) => void
  readonly renderRows: (rows: ShownRows<Row>) => ReactNode
}) {
  const { texts, icon, states, types, restore } = list
  const [change, setChange] = useState<Change>()
  const { q, state, type } = filter
  const { query, more, isStale } = useDirectoryList<Row>(list.pathOf({ q: useDebounced(q), state, type }))
  const mayRestore = useRight(restore.right)
  // The service refuses filters by what the reader may not see.
  const mayFilter = useReads('directory')
  // Rows of the filter before stay until the answer: they keep their own columns.
  const shownState = useRef(state)
  if (!isStale) shownState.current = state
  const isDeleted = shownState.current === 'deleted'
  const columns = isDeleted
    ? deletedColumns<Row>(mayRestore ? (row) => setChange(restoreObject(restore.kind, row)) : undefined)
    : list.columns
  return (
    <>
      <div className="filters">
        <SearchField
          label={texts.search}
          value={q ?? ''}
          onChange={({ target }) => onFilter({ q: target.value })}
        />
        {mayFilter && (
          <SelectField
            label={t.directory.state}
            value={state ?? 'all'}
            choices={choicesOf(states)}
            onChange={(next) => onFilter({ state: next })}
          />
        )}
        {mayFilter && types && (
          <SelectField
            label={t.directory.type}
            value={type ?? 'all'}
            choices={choicesOf(types)}
            onChange={(next) => onFilter({ type: next })}
          />
        )}
      </div>
      <Loaded query={query}>
        {(rows) => (
          <div className={isStale ? 'stack is-stale' : 'stack'}>
            {renderRows({
              rows,
              isDeleted,
              table: (selection) => (
                <DataTable
                  label={texts.title}
                  columns={columns}
                  rows={rows}
                  keyOf={({ id }) => id}
                  more={more}
                  height="calc(100dvh - 260px)"
                  empty={
                    <Empty icon={icon} title={isDeleted ? t.directory.noneDeleted : texts.none}>
                      {isDeleted ? t.directory.noneDeletedHint : texts.noneHint}
                    </Empty>
                  }
                  {...(selection && { selection })}
                />
              ),
            })}
          </div>
        )}
      </Loaded>
      <ChangeDrawer change={change} onClose={() => setChange(undefined)} />
    </>
  )
}

function choicesOf(names: Readonly<Record<string, string>>) {
  return Object.entries(names).map(([value, label]) => ({ value, label }))
}

/** A deleted object has no page of its own until it is restored. */
function deletedColumns<Row extends Named>(
  onRestore: ((row: Row) => void) | undefined,
): readonly Column<Row>[] {
  return [
    { key: 'name', header: t.directory.name, cell: ({ displayName, id }) => displayName ?? id },
    {
      key: 'more',
      header: t.directory.description,
      cell: ({ userPrincipalName, description }) => (
        <span className="quiet">{userPrincipalName ?? description ?? '–'}</span>
      ),
    },
    {
      key: 'deleted',
      header: t.directory.deletedOn,
      cell: ({ deletedDateTime }) => <DateText at={deletedDateTime ?? null} isRelative />,
    },
    {
      key: 'restore',
      header: <span className="visually-hidden">{t.directory.actions}</span>,
      isEnd: true,
      width: '110px',
      cell: (row) =>
        onRestore && (
          <Button size="small" onClick={() => onRestore(row)}>
            {t.directory.restore}
          </Button>
        ),
    },
  ]
}
