import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { Table2 } from 'lucide-react'
import { useDeferredValue, useEffect, useRef } from 'react'
import { type TableEntry, type TablePlace, tablesQuery } from '../../api/catalog.ts'
import { t } from '../../texts/index.ts'
import { SearchField } from '../../ui/field.tsx'
import { Empty, FaultView, Skeleton } from '../../ui/states.tsx'
import { useDatabasePlace } from './use-database.ts'

type Line = { readonly schema: string } | TableEntry

const lineHeight = 30

/** The tables of a database by schema: pages are loaded while the reader scrolls, and only lines in view are drawn. */
export function TableTree({
  chosen,
  search,
  onSearch,
}: {
  readonly chosen: TablePlace | undefined
  readonly search: string
  readonly onSearch: (text: string) => void
}) {
  const place = useDatabasePlace()
  const frame = useRef<HTMLElement>(null)
  const query = useInfiniteQuery(tablesQuery(place, useDeferredValue(search.trim())))
  const lines = groupBySchema(query.data?.pages.flatMap(({ value }) => value) ?? [])
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => frame.current,
    estimateSize: () => lineHeight,
    overscan: 20,
  })
  const items = virtual.getVirtualItems()
  const isNearEnd = (items.at(-1)?.index ?? 0) >= lines.length - 30
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query
  useEffect(() => {
    if (isNearEnd && hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [isNearEnd, hasNextPage, isFetchingNextPage, fetchNextPage])
  return (
    <nav className="card tree" aria-label={t.data.tables}>
      <div className="tree-search">
        <SearchField
          label={t.data.findTable}
          value={search}
          onChange={(event) => onSearch(event.target.value)}
        />
      </div>
      {query.error ? (
        <FaultView error={query.error} onRetry={() => void query.refetch()} />
      ) : !query.data ? (
        <div className="card-body">
          <Skeleton lines={8} />
        </div>
      ) : lines.length === 0 ? (
        <Empty title={search ? t.data.noTables : t.data.noTablesAtAll}>
          {search ? t.data.noTablesHint : t.data.noTablesAtAllHint}
        </Empty>
      ) : (
        <section
          className="tree-scroll"
          ref={frame}
          tabIndex={0}
          aria-label={t.data.tables}
          style={{ height: lines.length * lineHeight + 8 }}
        >
          <ul style={{ height: virtual.getTotalSize(), position: 'relative' }}>
            {items.map(({ index, start }) => {
              const line = lines[index] as Line
              return (
                <li
                  key={keyOf(line)}
                  style={{ position: 'absolute', top: start, insetInline: 0, height: lineHeight }}
                >
                  {'tableName' in line ? (
                    <TableLink line={line} chosen={chosen} />
                  ) : (
                    <span className="tree-schema">{line.schema}</span>
                  )}
                </li>
              )
            })}
          </ul>
        </section>
      )}
    </nav>
  )
}

function TableLink({ line, chosen }: { readonly line: TableEntry; readonly chosen: TablePlace | undefined }) {
  const isChosen = chosen?.schema === line.schemaName && chosen.table === line.tableName
  return (
    <Link
      from="/databases/$subscription/$group/$server/$database/data"
      to="."
      search={(before) => ({
        ...before,
        schema: line.schemaName,
        table: line.tableName,
        column: undefined,
        columns: undefined,
      })}
      className="nav-link"
      activeProps={{}}
      aria-current={isChosen ? 'true' : undefined}
    >
      <Table2 size={14} aria-hidden />
      <span className="truncate">{line.tableName}</span>
      {line.ruleCount > 0 && <span className="tree-count">{t.data.ruleCount(line.ruleCount)}</span>}
    </Link>
  )
}

function groupBySchema(tables: readonly TableEntry[]): readonly Line[] {
  return tables.flatMap((table, at): Line[] =>
    tables[at - 1]?.schemaName === table.schemaName ? [table] : [{ schema: table.schemaName }, table],
  )
}

function keyOf(line: Line): string {
  return 'tableName' in line ? JSON.stringify([line.schemaName, line.tableName]) : line.schema
}
