import { send } from './call.ts'
import { type DatabasePlace, pathOf } from './masking.ts'

export interface QueryAnswer {
  readonly columns: readonly { readonly name: string; readonly isMasked: boolean }[]
  readonly rows: readonly (readonly (string | null)[])[]
  readonly isCut: boolean
  readonly command: string
  readonly affected: number | null
  readonly error: { readonly code: string; readonly message: string; readonly position: number | null } | null
}

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
