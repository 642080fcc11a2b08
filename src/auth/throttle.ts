import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { fail } from '../kernel/problem.ts'
import type { Caller } from './caller.ts'

/** Counts the requests of each caller on this node. A limit of 0 counts nothing. */
export function createThrottle(requestsPerSecond: number): (caller: Caller) => Promise<void> | void {
  if (requestsPerSecond === 0) return () => {}
  const limiter = new RateLimiterMemory({ points: requestsPerSecond, duration: 1 })
  return async ({ objectId, applicationId }) => {
    try {
      await limiter.consume(`${objectId} ${applicationId}`)
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      const seconds = Math.max(1, Math.ceil(refusal.msBeforeNext / 1000))
      fail('TooManyRequests', { seconds }, { retryAfterSeconds: seconds })
    }
  }
}
