import { Fault, send } from './call.ts'

export interface BatchRequest {
  readonly method: string
  /** Below the version, such as `/users/1`. */
  readonly url: string
  readonly body?: unknown
}

interface BatchAnswer {
  readonly responses: readonly { readonly id: string; readonly status: number; readonly body?: unknown }[]
}

export interface BatchOutcome {
  readonly status: number
  readonly body: unknown
}

/** The service takes this many in one request. */
const largest = 20

/** Sends many requests of the directory API in few; the outcomes are in the order of the requests. */
export async function sendBatch(requests: readonly BatchRequest[]): Promise<readonly BatchOutcome[]> {
  const outcomes: BatchOutcome[] = []
  for (let start = 0; start < requests.length; start += largest) {
    const part = requests.slice(start, start + largest).map(({ method, url, body }, index) => ({
      id: String(index),
      method,
      url,
      ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }),
    }))
    const { responses } = (await send<BatchAnswer>('POST', '/v1.0/$batch', { body: { requests: part } })).body
    const byId = new Map(responses.map((response) => [response.id, response]))
    for (const { id } of part) {
      const found = byId.get(id)
      outcomes.push({ status: found?.status ?? 0, body: found?.body })
    }
  }
  return outcomes
}

/** The first refusal of a batch of changes, as if it had been sent alone. */
export function throwRefused(outcomes: readonly BatchOutcome[]): void {
  const refused = outcomes.find(({ status }) => status < 200 || status >= 300)
  if (refused)
    throw new Fault(refused.status, refused.body as ConstructorParameters<typeof Fault>[1], undefined)
}
