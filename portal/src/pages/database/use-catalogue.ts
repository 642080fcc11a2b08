import { useInfiniteQuery, useQueries, useQueryClient } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import {
  type ColumnEntry,
  columnsQuery,
  type TableEntry,
  tablesLikeQuery,
  tablesQuery,
} from '../../api/catalog.ts'
import type { Catalogue } from '../../ui/sql-editor.tsx'
import { useDatabasePlace, useRights } from './use-database.ts'

/** Each is a request. */
const mostNamed = 8
const staleMs = 5 * 60_000
const none: readonly TableEntry[] = []

/**
 * Names for completion: the first page of tables, and the columns of those that the statement names. `findTables` asks the
 * service for a part of a name where there are more.
 */
export function useCatalogue(statement: string) {
  const place = useDatabasePlace()
  const client = useQueryClient()
  const { mayRead } = useRights()
  const { data, hasNextPage: hasMore } = useInfiniteQuery({ ...tablesQuery(place, ''), enabled: mayRead })
  const first = useMemo(() => data?.pages.flatMap(({ value }) => value) ?? none, [data])
  const sources = useMemo(() => findSources(statement), [statement])
  const others = useQueries({
    queries: (hasMore ? sources : []).map((text) => tablesLikeQuery(place, text)),
    combine: readTables,
  })
  const tables = useMemo(() => [...first, ...others], [first, others])
  const named = useMemo(() => findNamed(statement, tables), [statement, tables])
  const columns = useQueries({
    queries: named.map(({ schemaName, tableName }) => ({
      ...columnsQuery(place, { schema: schemaName, table: tableName }),
      staleTime: staleMs,
    })),
    combine: readNames,
  })
  const catalogue = useMemo((): Catalogue => {
    const found: Record<string, readonly string[]> = {}
    for (const table of tables) found[nameOf(table)] = []
    for (const [at, table] of named.entries()) found[nameOf(table)] = columns[at] ?? []
    return found
  }, [tables, named, columns])
  const findTables = useCallback(
    async (text: string) => {
      if (!hasMore) return []
      // A look that fails, or that the next letter cancels, completes nothing.
      const found = await client.fetchQuery(tablesLikeQuery(place, text)).catch(() => none)
      return found.map((table) =>
        text.includes('.') ? `${table.schemaName}.${table.tableName}` : nameOf(table),
      )
    },
    [client, place, hasMore],
  )
  return { catalogue, findTables }
}

function readTables(looks: readonly { readonly data?: readonly TableEntry[] | undefined }[]) {
  return looks.flatMap(({ data }) => data ?? none)
}

function readNames(looks: readonly { readonly data?: readonly ColumnEntry[] | undefined }[]) {
  return looks.map(({ data }) => data?.map(({ columnName }) => columnName) ?? [])
}

function nameOf({ schemaName, tableName }: TableEntry): string {
  return schemaName === 'public' ? tableName : `${schemaName}.${tableName}`
}

/** The names that stand where a statement names a table. */
function findSources(statement: string): readonly string[] {
  const found = [...statement.matchAll(/\b(?:from|join|into|update)\s+([\w.]{2,})/gi)]
  return [...new Set(found.map(([, name = '']) => name.toLowerCase()))].slice(0, mostNamed)
}

function findNamed(statement: string, tables: readonly TableEntry[]): readonly TableEntry[] {
  const words = new Set(statement.toLowerCase().match(/[\w.]+/g))
  const isNamed = ({ schemaName, tableName }: TableEntry) =>
    words.has(tableName) || words.has(`${schemaName}.${tableName}`)
  const named = new Map(tables.filter(isNamed).map((table) => [nameOf(table), table]))
  return [...named.values()].slice(0, mostNamed)
}
