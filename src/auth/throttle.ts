import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { fail } from '../kernel/problem.ts'
import type { Caller } from './caller.ts'

/** The part of the limits that nodes take from together. */
export interface SharedAllowance {
  /** How many nodes run, this one included. */
  countNodes(): number
  /** Takes requests from the present second of a caller. False: fewer are left of `most`. */
  take(caller: string, requests: number, most: number): Promise<boolean>
}

/** Requests are taken from the shared part in tenths of the limit, so that few of them ask the store. */
const portions = 10

/**
 * Limits the requests of each caller on all nodes together; a limit of 0 counts nothing. Half of the limit is divided among
 * the nodes and costs nothing to count. A node whose part is used up takes from the other half, which they share.
 */
export function createThrottle(
  requestsPerSecond: number,
  shared: SharedAllowance,
): (caller: Caller) => Promise<void> | void {
  if (requestsPerSecond === 0) return () => {}
  const sharedPart = Math.floor(requestsPerSecond / 2)
  const portion = Math.ceil(requestsPerSecond / portions)
  const ownPart = (nodes: number) =>
    nodes === 1 ? requestsPerSecond : Math.max(1, Math.floor((requestsPerSecond - sharedPart) / nodes))
  let nodes = 1
  let limiter = createLimiter(ownPart(1))
  const taken = createLimiter(portion)
  const taking = new Map<string, Promise<boolean>>()

  /** One question at a time for each caller, however many of its requests wait. */
  const takeMore = (key: string) => {
    const running =
      taking.get(key) ??
      shared
        .take(key, portion, sharedPart)
        .then(async (isTaken) => {
          if (isTaken) await taken.delete(key)
          return isTaken
        })
        .catch(() => false)
        .finally(() => taking.delete(key))
    taking.set(key, running)
    return running
  }
  const isShared = async (key: string): Promise<boolean> => {
    // Nothing has been taken in this second yet.
    if ((await taken.get(key)) === null && !(await takeMore(key))) return false
    for (;;) {
      if (await isWithin(taken, key)) return true
      if (!(await takeMore(key))) return false
    }
  }
  return async ({ objectId, applicationId }) => {
    if (nodes !== shared.countNodes()) {
      nodes = shared.countNodes()
      limiter = createLimiter(ownPart(nodes))
    }
    const key = `${objectId} ${applicationId}`
    if (await isWithin(limiter, key)) return
    if (nodes > 1 && (await isShared(key))) return
    const msLeft = (await limiter.get(key))?.msBeforeNext ?? 0
    const seconds = Math.max(1, Math.ceil(msLeft / 1000))
    fail('TooManyRequests', { seconds }, { retryAfterSeconds: seconds })
  }
}

function createLimiter(points: number): RateLimiterMemory {
  return new RateLimiterMemory({ points, duration: 1 })
}

async function isWithin(limiter: RateLimiterMemory, key: string): Promise<boolean> {
  try {
    await limiter.consume(key)
    return true
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal
    return false
  }
}
