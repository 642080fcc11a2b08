import type pg from 'pg'

/** Who must fail: a role that the masks contain or, where masking would do harm, any role. */
export type Capability = 'contained' | 'any role, harm'
export type ClauseId = `ENF-${number}`
export type Statement = string | pg.QueryConfig
/** `;;` parts the statements of a text. */
type Statements = string | readonly Statement[]

/** What shows that a case can succeed at all: the same by an exempt role, or a reason why there is no such thing. */
type Control =
  | { readonly exempt?: Statements; readonly alone?: never; readonly denied?: never }
  /** Why an exempt role has no counterpart that shows the value. */
  | { readonly alone: string; readonly exempt?: never; readonly denied?: never }
  /** Each statement of `run` is denied. */
  | { readonly denied: true; readonly exempt?: never; readonly alone?: never }

type Details = Control & {
  /** What must work, so that `run` has something to attack with. */
  readonly prepare?: Statements
  readonly run: Statements
  /** What gives a raw value away where it does not show itself: a guess that came true. */
  readonly tell?: RegExp
  /** The first version of PostgreSQL that understands it. */
  readonly since?: number
  /** Where the control shows nothing: in a form that the runner does not know, or as PostgreSQL refuses the text. */
  readonly blindIn?: 'binary' | 'extended'
}

/** Statements of one session, one after the other whatever becomes of each. */
type Row = Statements | Details
type Rows = Readonly<Record<string, Row>>

/**
 * One try to get at a raw value, in a transaction that is rolled back. `{S}` is the schema of the tables, their own or
 * that of their twins; `{L}` a schema of the attacker's own; `{leak}` makes a function there that tells what it gets;
 * `{analyst}`, `{auditor}`, `{owner}`, `{group}` and `{twins}` are roles.
 */
export interface Attack {
  readonly id: string
  readonly capability: Capability
  readonly clauses: readonly ClauseId[]
  readonly prepare: readonly Statement[]
  readonly run: readonly Statement[]
  readonly exempt: readonly Statement[] | undefined
  readonly isDenied: boolean
  readonly tell: RegExp | undefined
  readonly since: number
  readonly blindIn: 'binary' | 'extended' | undefined
}

export function attacks(
  capability: Capability,
  clauses: readonly [ClauseId, ...ClauseId[]],
  rows: Rows,
): readonly Attack[] {
  return Object.entries(rows).map(([id, row]) => {
    const details: Details = isDetails(row) ? row : { run: row }
    const { prepare = [], run, exempt = run, alone, denied, tell, since = 0, blindIn } = details
    return {
      ...{ id, capability, clauses, tell, since, blindIn },
      prepare: split(prepare),
      run: split(run),
      exempt: alone === undefined && !denied ? split(exempt) : undefined,
      isDenied: denied === true,
    }
  })
}

/** No raw value, but an answer that depends on one. */
export const hit = /\bhit\b/

export function guesses(
  capability: Capability,
  clauses: readonly [ClauseId, ...ClauseId[]],
  rows: Rows,
): readonly Attack[] {
  return attacks(capability, clauses, rows).map((attack) => ({ ...attack, tell: hit }))
}

function split(statements: Statements): readonly Statement[] {
  return typeof statements === 'string' ? statements.split(/;;\s+/) : statements
}

function isDetails(row: Row): row is Details {
  return typeof row === 'object' && 'run' in row
}
