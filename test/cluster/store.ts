/** Begins a fault. Resolves with what ends it. */
export interface Fault {
  readonly name: string
  begin(): Promise<() => Promise<void>>
}

/** The PostgreSQL of the service and of the masked database, and what can befall it. */
export interface ClusterStore {
  /** host:port of each server, the primary among them. */
  readonly hosts: readonly string[]
  readonly user: string
  readonly password: string
  /** Ports of the servers, each with the port that tells by HTTP whether it is the primary; none: there is one server. */
  readonly primaryChecks: readonly { readonly port: number; readonly check: number }[]
  readonly faults: readonly Fault[]
  /** All servers run, and another has everything that the primary has. */
  isWhole(): Promise<boolean>
  /** The state of each server, for the operator of the test. */
  describe(): Promise<string>
  close(): Promise<void>
}
