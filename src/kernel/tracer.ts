/** Names and numbers of our own. No value of a row, no parameter, token, path or name of a person is ever one. */
export type Attributes = Readonly<Record<string, string | number | boolean>>

/** Makes spans of what the service does. */
export interface Tracer {
  /** Begins the span of a request, below the one that the client names; the function returned ends it. */
  begin(request: object, method: string, traceParent: string | undefined): (status: number) => void
  /** Does a part of a request's work: spans that it makes stand below that of the request, which takes the name. */
  within<T>(request: object, operation: string, work: () => T): T
  /** Does the work in a span of its own, below the present one where there is one. */
  run<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T>
  /** The same, and without a span where there is none above it. */
  runBelow<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T>
  /** A span of something that is over. */
  record(name: string, attributes: Attributes, startedAt: Date, endedAt: Date): void
}

/** Undefined unless the setting is on: what is not traced costs one comparison. */
export let tracer: Tracer | undefined

export function useTracer(chosen: Tracer | undefined): void {
  tracer = chosen
}
