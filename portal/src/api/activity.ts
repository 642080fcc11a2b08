import { queryOptions } from '@tanstack/react-query'
import { get } from './call.ts'
import type { Schema } from './described.ts'

export type ActivitySummary = Schema<'activitySummary'>

const shownDays = 30

/** Counts of the last month, by days of the reader's zone. */
export const summaryQuery = queryOptions({
  queryKey: ['activity summary'],
  queryFn: ({ signal }) => {
    const from = new Date()
    from.setHours(0, 0, 0, 0)
    from.setDate(from.getDate() - shownDays + 1)
    return get<ActivitySummary>(`/providers/Vendor.Sql/activitySummary?from=${from.toISOString()}`, signal)
  },
  refetchInterval: 30_000,
})
