import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { get, send } from './call.ts'
import type { Schema } from './described.ts'
import { type Mask, policyPathOf } from './document.ts'
import { type DatabasePlace, pathOf } from './masking.ts'

export type TableEntry = Schema<'tableEntry'>
export type ColumnEntry = Schema<'columnEntry'>
export type FoundColumn = Schema<'foundColumn'>
export type Preview = Schema<'preview'>
export type TableRole = Schema<'tableRole'>

interface TablesPage {
  readonly value: readonly TableEntry[]
  readonly nextLink?: string
}

export function tablesQuery(place: DatabasePlace, search: string) {
  const first = `${pathOf(place)}/tables${search === '' ? '' : `?search=${encodeURIComponent(search)}`}`
  return infiniteQueryOptions({
    queryKey: ['database', pathOf(place), 'tables', search],
    queryFn: ({ pageParam, signal }) => get<TablesPage>(pageParam, signal),
    initialPageParam: first,
    getNextPageParam: (page) => page.nextLink,
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  })
}

/** The first tables whose `schema.table` contains the text. */
export function tablesLikeQuery(place: DatabasePlace, text: string) {
  return queryOptions({
    queryKey: ['database', pathOf(place), 'tables like', text],
    queryFn: async ({ signal }) =>
      (await get<TablesPage>(`${pathOf(place)}/tables?search=${encodeURIComponent(text)}`, signal)).value,
    staleTime: 5 * 60_000,
  })
}

export interface TablePlace {
  readonly schema: string
  readonly table: string
}

export function columnsQuery(place: DatabasePlace, { schema, table }: TablePlace) {
  const path = `${pathOf(place)}/schemas/${encodeURIComponent(schema)}/tables/${encodeURIComponent(table)}/columns`
  return queryOptions({
    queryKey: ['database', pathOf(place), 'columns', schema, table],
    queryFn: async ({ signal }) => (await get<{ value: readonly ColumnEntry[] }>(path, signal)).value,
  })
}

interface RolesPage {
  readonly value: readonly TableRole[]
  readonly nextLink?: string
}

function rolesPathOf(place: DatabasePlace, { schema, table }: TablePlace): string {
  return `${pathOf(place)}/schemas/${encodeURIComponent(schema)}/tables/${encodeURIComponent(table)}/roles`
}

/** Database roles with what they see of a table; the role of exactly this name is first. */
export function tableRolesQuery(place: DatabasePlace, table: TablePlace, search: string) {
  return queryOptions({
    queryKey: ['database', pathOf(place), 'roles', table.schema, table.table, search],
    queryFn: async ({ signal }) =>
      (await get<RolesPage>(`${rolesPathOf(place, table)}?search=${encodeURIComponent(search)}`, signal))
        .value,
    staleTime: 30_000,
  })
}

/** Each is a request of 50 roles. */
const mostRolePages = 10

/** The database roles with what they see of a table: all of them, or as many as a reader waits for. */
export function allTableRolesQuery(place: DatabasePlace, table: TablePlace) {
  return queryOptions({
    queryKey: ['database', pathOf(place), 'all roles', table.schema, table.table],
    queryFn: async ({ signal }) => {
      const roles: TableRole[] = []
      let next: string | undefined = rolesPathOf(place, table)
      for (let pages = 0; next !== undefined && pages < mostRolePages; pages++) {
        const page: RolesPage = await get<RolesPage>(next, signal)
        roles.push(...page.value)
        next = page.nextLink
      }
      return { roles, hasMore: next !== undefined }
    },
    staleTime: 30_000,
  })
}

/** A rule that is not saved, for a column of the previewed table. */
export type Draft = Mask & { readonly columnName: string }

export function previewQuery(place: DatabasePlace, { schema, table }: TablePlace, draft: Draft | undefined) {
  return queryOptions({
    queryKey: ['database', pathOf(place), 'preview', schema, table, draft ?? null],
    queryFn: async ({ signal }) => {
      const body = { schemaName: schema, tableName: table, top: 10, ...(draft && { rule: draft }) }
      return (await send<Preview>('POST', `${policyPathOf(place)}/preview`, { body, signal })).body
    },
    placeholderData: (before, query) => (query?.queryKey[4] === table ? before : undefined),
    staleTime: 30_000,
    retry: false,
  })
}

/** Columns of any table by a part of their name. */
export async function findColumns(
  place: DatabasePlace,
  text: string,
  signal: AbortSignal,
): Promise<readonly FoundColumn[]> {
  const path = `${pathOf(place)}/columns?search=${encodeURIComponent(text)}`
  return (await get<{ value: readonly FoundColumn[] }>(path, signal)).value
}
