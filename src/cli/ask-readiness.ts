import { fetchOwn } from './fetch-own.ts'
import { type RunFile, urlOf } from './run-file.ts'

export interface Readiness {
  readonly isReady: boolean
  readonly notReady: readonly { readonly name: string; readonly reason: string }[]
}

const answerMs = 5000

/**
 * Asks the service that wrote the file whether it is ready. Null: it does not answer, and after it was killed another program may in
 * its place. A service of an earlier release has no proof.
 */
export async function askReadiness(run: RunFile): Promise<Readiness | null> {
  const signal = AbortSignal.timeout(answerMs)
  try {
    const response =
      run.certificate === undefined
        ? await fetch(`${urlOf(run)}/readyz`, { signal })
        : await fetchOwn(run, '/readyz', { method: 'GET', headers: {}, signal })
    const { notReady = [] } = (await response.json()) as Partial<Readiness>
    return { isReady: response.ok, notReady }
  } catch {
    return null
  }
}
