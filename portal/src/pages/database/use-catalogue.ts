import { useInfiniteQuery, useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type ColumnEntry, columnsQuery, type TableEntry, tablesQuery } from '../../api/catalog.ts'
import type { Catalogue } from '../../ui/sql-editor.tsx'
import { useDatabasePlace, useRights } from './use-database.ts'

/** Each is a request. */
const mostNamed = 8
const staleMs = 5 * 60_000

/** Names for completion: the tables, and the columns of those that the statement names. */
export function useCatalogue(statement: string): Catalogue {
  const place = useDatabasePlace()
  const { mayRead } = useRights()
  const { data } = useInfiniteQuery({ ...tablesQuery(place, ''), enabled: mayRead })
  const tables = useMemo(() => data?.pages.flatMap(({ value }) => value) ?? [], [data])
  const named = useMemo(() => findNamed(statement, tables), [statement, tables])
  const columns = useQueries({
    queries: named.map(({ schemaName, tableName }) => ({
      ...columnsQuery(place, { schema: schemaName, table: tableName }),
      staleTime: staleMs,
    })),
    combine: readNames,
  })
  return useMemo(() => {
    const found: Record<string, readonly string[]> = {}
    for (const table of tables) found[nameOf(table)] = []
    for (const [at, table] of named.entries()) found[nameOf(table)] = columns[at] ?? []
    return found
  }, [tables, named, columns])
}

function readNames(looks: readonly { readonly data?: readonly ColumnEntry[] | undefined }[]) {
  return looks.map(({ data }) => data?.map(({ columnName }) => columnName) ?? [])
}

function nameOf({ schemaName, tableName }: TableEntry): string {
  return schemaName === 'public' ? tableName : `${schemaName}.${tableName}`
}

function findNamed(statement: string, tables: readonly TableEntry[]): readonly TableEntry[] {
  const words = new Set(statement.toLowerCase().match(/[\w.]+/g))
  const isNamed = ({ schemaName, tableName }: TableEntry) =>
    words.has(tableName) || words.has(`${schemaName}.${tableName}`)
  return tables.filter(isNamed).slice(0, mostNamed)
}
