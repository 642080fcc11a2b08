import { send } from './call.ts'
import type { Schema } from './described.ts'
import { type DatabasePlace, pathOf } from './masking.ts'

export type QueryAnswer = Schema<'queryResult'>

export interface QueryInput {
  readonly sql: string
  readonly isReadOnly: boolean
  readonly rowLimit: number
}

/** Runs one statement as the person, through the gateway. Closing the request cancels it. */
export async function runQuery(
  place: DatabasePlace,
  body: QueryInput,
  signal: AbortSignal,
): Promise<QueryAnswer> {
  return (
    await send<QueryAnswer>('POST', `${pathOf(place)}/query`, {
      body: { ...body, timeoutSeconds: 45 },
      signal,
    })
  ).body
}
