import { useNavigate, useSearch } from '@tanstack/react-router'
import { Download, ScrollText } from 'lucide-react'
import type { ReactNode } from 'react'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable, type TableProps } from '../../ui/data-table.tsx'
import { DateText } from '../../ui/date.tsx'
import { exportCsv } from '../../ui/export-csv.ts'
import { Empty } from '../../ui/states.tsx'
import { EntryDrawer, type ShownEntry } from './entry-drawer.tsx'

/** How the entries of one audit are read. */
export interface AuditOf<Row> {
  readonly label: string
  readonly fileName: string
  readonly timeOf: (row: Row) => string
  readonly actionOf: (row: Row) => string
  /** The action in words, where its name is none for a reader. */
  readonly wordsOf?: (row: Row) => string
  readonly target: { readonly header: string; readonly cell: (row: Row) => ReactNode }
  readonly who: (row: Row) => ReactNode
  readonly show: (row: Row) => ShownEntry
  /** Columns of the file behind time and action. */
  readonly exported: Readonly<Record<string, (row: Row) => string>>
}

/** Entries of an audit, newest first: each opens what it changed, and all that were read can be saved. */
export function AuditList<Row extends { readonly id: string }>({
  audit,
  rows,
  more,
}: {
  readonly audit: AuditOf<Row>
  readonly rows: readonly Row[]
  readonly more: NonNullable<TableProps<Row>['more']>
}) {
  const { entry } = useSearch({ from: '/audit' })
  const navigate = useNavigate({ from: '/audit' })
  const setEntry = (id: string | undefined) =>
    void navigate({ search: (before) => ({ ...before, entry: id }), replace: true })
  const opened = rows.find(({ id }) => id === entry)
  const columns: readonly Column<Row>[] = [
    {
      key: 'when',
      header: t.audit.when,
      cell: (row) => <DateText at={audit.timeOf(row)} isRelative />,
      width: '150px',
    },
    {
      key: 'action',
      header: t.audit.action,
      cell: (row) => (
        <button
          type="button"
          className="row-button"
          title={audit.actionOf(row)}
          onClick={() => setEntry(row.id)}
        >
          {(audit.wordsOf ?? audit.actionOf)(row)}
        </button>
      ),
    },
    { key: 'target', ...audit.target },
    { key: 'who', header: t.audit.who, cell: audit.who },
  ]
  const save = () =>
    exportCsv(
      audit.fileName,
      [t.audit.when, t.audit.action, ...Object.keys(audit.exported)],
      rows.map((row) => [
        audit.timeOf(row),
        audit.actionOf(row),
        ...Object.values(audit.exported).map((read) => read(row)),
      ]),
    )
  return (
    <>
      <div className="line spread">
        <span className="quiet small">{t.audit.loaded(rows.length)}</span>
        <Button size="small" disabled={rows.length === 0} onClick={save}>
          <Download size={13} aria-hidden />
          {t.audit.export}
        </Button>
      </div>
      <div className="audit-list">
        <DataTable
          label={audit.label}
          columns={columns}
          rows={rows}
          keyOf={({ id }) => id}
          more={more}
          height="calc(100dvh - 360px)"
          empty={
            <Empty icon={ScrollText} title={t.audit.none}>
              {t.audit.noneHint}
            </Empty>
          }
        />
      </div>
      <EntryDrawer entry={opened && audit.show(opened)} onClose={() => setEntry(undefined)} />
    </>
  )
}
