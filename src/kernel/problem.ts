import { directoryProblems } from './problems/directory.ts'
import type { Kind } from './problems/kind.ts'
import { maskingProblems } from './problems/masking.ts'
import { requestProblems } from './problems/request.ts'
import { serviceProblems } from './problems/service.ts'
import type { Surface } from './surface.ts'

/** Every error the service can answer. Nothing else leaves the service; `docs/errors.md` is made from this table. */
export const problems = {
  ...requestProblems,
  ...maskingProblems,
  ...directoryProblems,
  ...serviceProblems,
} as const satisfies Record<string, Kind>

export type ProblemName = keyof typeof problems
export type Parameters = Readonly<Record<string, string | number>>

export interface Detail {
  readonly code: string
  readonly message: string
  readonly target?: string
}

interface Extra {
  /** The field or parameter at fault. */
  readonly target?: string
  readonly details?: readonly Detail[]
  readonly retryAfterSeconds?: number
  /** Where the client has to go instead. */
  readonly location?: string
  readonly cause?: unknown
}

/** The only error that is an answer. Anything else thrown is a bug. */
export class Problem extends Error {
  readonly problem: ProblemName
  readonly parameters: Parameters
  readonly target: string | undefined
  readonly details: readonly Detail[] | undefined
  readonly retryAfterSeconds: number | undefined
  readonly location: string | undefined

  constructor(problem: ProblemName, parameters: Parameters = {}, extra: Extra = {}) {
    super(fill(problems[problem].message, parameters), { cause: extra.cause })
    this.name = 'Problem'
    this.problem = problem
    this.parameters = parameters
    this.target = extra.target
    this.details = extra.details
    this.retryAfterSeconds = extra.retryAfterSeconds
    this.location = extra.location
  }

  get status(): number {
    return problems[this.problem].status
  }
}

export function fail(problem: ProblemName, parameters?: Parameters, extra?: Extra): never {
  throw new Problem(problem, parameters, extra)
}

export function describe(
  problem: Problem,
  surface: Surface,
): { status: number; code: string; message: string } {
  const kind: Kind = problems[problem.problem]
  const said = { status: kind.status, code: kind.code, message: kind.message, ...kind[surface] }
  return { status: said.status, code: said.code, message: fill(said.message, problem.parameters) }
}

function fill(template: string, parameters: Parameters): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) =>
    Object.hasOwn(parameters, name) ? String(parameters[name]) : whole,
  )
}
