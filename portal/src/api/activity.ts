import { queryOptions } from '@tanstack/react-query'
import { get } from './call.ts'
import type { Schema } from './described.ts'
import { type DatabasePlace, pathOf } from './masking.ts'

export type ActivitySummary = Schema<'activitySummary'>

export type DatabaseActivity = Schema<'databaseActivitySummary'>

export const shownDays = 30

/** The start of the first day of the last month, in the reader's zone. */
function startOfMonth(): string {
  const from = new Date()
  from.setHours(0, 0, 0, 0)
  from.setDate(from.getDate() - shownDays + 1)
  return from.toISOString()
}

/** Counts of the last month, by days of the reader's zone. */
export const summaryQuery = queryOptions({
  queryKey: ['activity summary'],
  queryFn: ({ signal }) =>
    get<ActivitySummary>(`/providers/Vendor.Sql/activitySummary?from=${startOfMonth()}`, signal),
  refetchInterval: 30_000,
})

/** The same for the events of one database, by kind. */
export function databaseActivityQuery(place: DatabasePlace) {
  return queryOptions({
    queryKey: ['events', pathOf(place), 'days'],
    queryFn: ({ signal }) =>
      get<DatabaseActivity>(`${pathOf(place)}/activitySummary?from=${startOfMonth()}`, signal),
  })
}
