import { setTimeout } from 'node:timers/promises'

interface Patience {
  readonly withinMs?: number
  readonly everyMs?: number
}

/**
 * The time within which a thing that is promised within `ms` must happen. `npm test`, where machines are busy, gives it more, and
 * `npm run test:all` holds the promise.
 */
export function promised(ms: number): number {
  return process.env.MASQUERADE_TEST_ALL ? ms : 5 * ms
}

/** Resolves with what `look` returns as soon as that is truthy. Fails when it is not in time. */
export async function waitUntil<T>(
  what: string,
  look: () => T | Promise<T>,
  { withinMs = 30_000, everyMs = 25 }: Patience = {},
): Promise<T> {
  const deadline = performance.now() + promised(withinMs)
  for (;;) {
    const seen = await look()
    if (seen) return seen
    if (performance.now() > deadline)
      throw new Error(`${what}: not within ${promised(withinMs) / 1000} seconds`)
    await setTimeout(everyMs)
  }
}

/** Resolves with the first result that is not an error. Throws an error that does not pass, or the last one in time. */
export async function retryUntil<T>(
  attempt: () => Promise<T>,
  passes: (error: unknown) => boolean = () => true,
  { withinMs = 30_000, everyMs = 25 }: Patience = {},
): Promise<T> {
  const deadline = performance.now() + promised(withinMs)
  for (;;)
    try {
      return await attempt()
    } catch (error) {
      if (!passes(error) || performance.now() > deadline) throw error
      await setTimeout(everyMs)
    }
}

/** Shows that a thing does not happen: fails when `look` is falsy at any time within the period. */
export async function holdsFor(
  forMs: number,
  what: string,
  look: () => unknown | Promise<unknown>,
): Promise<void> {
  for (const end = performance.now() + forMs; performance.now() < end; await setTimeout(50))
    if (!(await look())) throw new Error(`${what}: it did not last`)
}
