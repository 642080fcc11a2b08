import { queryOptions } from '@tanstack/react-query'
import { sendBatch } from './batch.ts'
import { type Named, namedFields } from './directory.ts'

interface Waiting {
  readonly id: string
  readonly resolve: (found: Named | null) => void
  readonly reject: (error: unknown) => void
}

let waiting: Waiting[] = []

/** The object with an id, null when the reader may not see it. Ids that a page asks for at once are one request. */
function findPrincipal(id: string): Promise<Named | null> {
  return new Promise((resolve, reject) => {
    if (waiting.length === 0) setTimeout(() => void readWaiting(), 0)
    waiting.push({ id, resolve, reject })
  })
}

async function readWaiting(): Promise<void> {
  const wanted = waiting
  waiting = []
  try {
    const requests = wanted.map(({ id }) => ({
      method: 'GET',
      url: `/directoryObjects/${encodeURIComponent(id)}?$select=${namedFields}`,
    }))
    const outcomes = await sendBatch(requests)
    for (const [index, { resolve }] of wanted.entries()) {
      const outcome = outcomes[index]
      resolve(outcome?.status === 200 ? (outcome.body as Named) : null)
    }
  } catch (error) {
    for (const { reject } of wanted) reject(error)
  }
}

export function principalQuery(id: string) {
  return queryOptions({
    queryKey: ['directory', 'principal', id],
    queryFn: () => findPrincipal(id),
    staleTime: 5 * 60_000,
  })
}
