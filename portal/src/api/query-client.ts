import { QueryClient } from '@tanstack/react-query'
import { SessionEnded } from '../session/session.ts'
import { Fault } from './call.ts'

/** A refusal stays a refusal; only what may pass by itself is tried again. */
function isWorthRetrying(count: number, error: unknown): boolean {
  if (error instanceof SessionEnded) return false
  if (error instanceof Fault) return count < 2 && [502, 503, 504].includes(error.status)
  return count < 1
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { retry: isWorthRetrying, staleTime: 5_000, refetchOnWindowFocus: true, gcTime: 5 * 60_000 },
  },
})
