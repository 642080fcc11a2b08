import type { Static, TObject, TSchema } from 'typebox'
import type { Caller } from '../auth/caller.ts'
import type { Rights } from '../auth/effective-rights.ts'
import type { Params, Permission } from '../auth/permission.ts'
import type { Query } from '../db/query.ts'
import { type JsonLimits, jsonLimits } from '../kernel/json.ts'
import type { Surface } from '../kernel/surface.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface RequestFacts {
  readonly id: string
  /** Origin and version segment as the caller addressed it, for the URLs in answers. */
  readonly baseUrl: string
  /** The namespace of types in the answer. */
  readonly namespace: string
  /** Path without the query, with every key as a segment. */
  readonly path: string
  readonly ifMatch: string | undefined
  readonly ifNoneMatch: string | undefined
  /** Preferences of the `Prefer` header, names in lower case. */
  readonly preferences: ReadonlyMap<string, string>
  /** True for a request that came inside another one. */
  readonly isInner: boolean
  /** The `api-version` that the client asked for. */
  readonly apiVersion: string | undefined
  /** The access token of the caller, for the gateway, which checks it like any other client's. */
  readonly token: string
  /** Aborts when the client closes the connection before the answer. */
  readonly signal: AbortSignal
}

/** A request inside another one. It is sent with the token of the outer request. */
export interface InnerRequest {
  readonly method: string
  /** Path with the prefix of the surface, and query. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

export interface InnerAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface AuditEntry {
  readonly action: string
  readonly target: string
  readonly before?: unknown
  readonly after?: unknown
}

/** Rejects when the caller may not, by what `sql` reads. */
export type Ask = (sql: Query) => Promise<void>

export interface Context<Ports, Body, Options> {
  readonly params: Params
  readonly query: Options
  readonly body: Body
  readonly caller: Caller
  /** A transaction for every method but GET; it commits only when `run` returns. */
  readonly tx: Query
  readonly request: RequestFacts
  /** Written in the transaction of the change itself. */
  readonly audit: (entry: AuditEntry) => void
  /**
   * Asks before the commit once more whether the caller may, of what other transactions have committed by then. Questions
   * about the same are asked once.
   */
  readonly askAgain: (about: string, ask: Ask) => void
  /**
   * Rejects when the token of the caller, or the permission or right that the operation declares, was revoked after the
   * request was admitted. For reads that wait.
   */
  readonly confirm: () => Promise<void>
  /** Handles another request of the same caller with every check that a request of its own passes. */
  readonly sendInner: (request: InnerRequest) => Promise<InnerAnswer>
  /** Functions of other rooms that the operation calls; `main.ts` passes them in. */
  readonly ports: Ports
}

export interface Answer {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Headers that only what happens after the commit can tell. */
  readonly afterCommit?: () => Promise<Readonly<Record<string, string>>>
  /** The body, where only what happens after the commit and `afterCommit` can tell it. */
  readonly lateBody?: () => Promise<unknown>
}

/** The context of an operation before its transaction begins; `tx` is the pool. */
export type Preparation<Ports, Body, Options> = Omit<Context<Ports, Body, Options>, 'audit' | 'askAgain'>

export interface BodyLimits extends JsonLimits {
  readonly bytes: number
}

export const usualBodyLimits: BodyLimits = { bytes: 1024 * 1024, ...jsonLimits }

export interface Operation<Ports = unknown, Body = unknown, Options = unknown> {
  readonly surface: Surface
  /** The operation's name in OpenAPI, metrics and audit: a verb and a noun of the specification. */
  readonly name: string
  readonly clause: string
  readonly summary: string
  /** The heading that the description of the API lists it under; the room gives it by `tagged`. */
  readonly tag?: string
  readonly method: Method
  /** Every path form; parameters as `:name`. */
  readonly paths: readonly string[]
  /** Forms that work as well and that the description of the API leaves out. */
  readonly aliasPaths?: readonly string[]
  /** The versions the operation can be asked for; undefined: its surface has none. */
  readonly apiVersions?: readonly string[]
  readonly permission: Permission
  /**
   * The right that the signed-in person needs beside the permission; of several, one admits the request, and the rules
   * about the write require the one that it takes.
   */
  readonly right?: Rights
  /** A POST that only reads (an OData action such as getMemberGroups): it gets no transaction. */
  readonly reads?: true
  readonly query?: TObject
  readonly body?: TSchema
  /** The body as the description of the API has it, where `body` leaves checks with better messages to the operation. */
  readonly describedBody?: TSchema
  /** True where the specification lists no Content-Type among the headers: a body without one is read as JSON. */
  readonly contentTypeOptional?: true
  /** Limits of the body, where the usual ones are too narrow for what the operation is for. */
  readonly bodyLimits?: BodyLimits
  /** Schema of the body of each success status; null where there is none. `contentMediaType` names one that is no JSON. */
  readonly answers: Readonly<Record<number, TSchema | null>>
  /** The status of success for HEAD where it is not that of GET: clients of the original refuse any other. */
  readonly headStatus?: 204
  /** Statuses of errors beyond those that the form of the operation tells. */
  readonly errors?: readonly number[]
  /** Work that may take long (asking another server): done once, before the transaction of `run` begins. */
  prepare?(context: Preparation<Ports, Body, Options>): Promise<unknown>
  run(context: Context<Ports, Body, Options>, prepared: unknown): Promise<Answer>
}

type BodyOf<B> = B extends TSchema ? Static<B> : undefined
type QueryOf<Q> = Q extends TObject ? Static<Q> : Record<string, never>

interface Definition<Ports, B extends TSchema | undefined, Q extends TObject | undefined, Prepared>
  extends Omit<Operation, 'surface' | 'paths' | 'query' | 'body' | 'prepare' | 'run'> {
  readonly path: string | readonly string[]
  readonly body?: B
  readonly query?: Q
  prepare?(context: Preparation<Ports, BodyOf<B>, QueryOf<Q>>): Promise<Prepared>
  run(context: Context<Ports, BodyOf<B>, QueryOf<Q>>, prepared: Prepared): Promise<Answer>
}

/** A write that leaves out the right of the person does not compile. */
export type WritesNeedRight =
  | { readonly method: 'GET' }
  | { readonly reads: true }
  | { readonly right: Rights }

/** The maker of a surface's operations: `const operation = operationsOf<MaskingPorts>('masking')`. */
export function operationsOf<Ports, Demands = unknown>(surface: Surface) {
  return function operation<
    const B extends TSchema | undefined = undefined,
    const Q extends TObject | undefined = undefined,
    Prepared = undefined,
  >(definition: Definition<Ports, B, Q, Prepared> & Demands): Operation<Ports> {
    const { path, ...rest } = definition as Definition<Ports, B, Q, Prepared>
    return {
      ...rest,
      surface,
      paths: typeof path === 'string' ? [path] : path,
    } as unknown as Operation<Ports>
  }
}

/** Lists operations under a heading in the description of the API, unless they have one. */
export function tagged<Ports>(tag: string, operations: readonly Operation<Ports>[]): Operation<Ports>[] {
  return operations.map((operation) => ({ tag, ...operation }))
}

export const noContent: Answer = { status: 204 }

export function ok(body: unknown, headers?: Readonly<Record<string, string>>): Answer {
  return headers ? { status: 200, body, headers } : { status: 200, body }
}

export function created(body: unknown, headers?: Readonly<Record<string, string>>): Answer {
  return headers ? { status: 201, body, headers } : { status: 201, body }
}
