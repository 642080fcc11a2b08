import type { Tx } from '../../db/transaction.ts'
import type { ObservedTwin } from '../catalog.ts'
import { isTwinOwnerName } from '../names.ts'
import { hashParsed } from './parsed.ts'

interface MadeTwin {
  readonly schema: string
  readonly name: string
  /** The definition that PostgreSQL stored for it. Null: there is none. */
  readonly made: string | null
}

type PrintedTwin = Pick<ObservedTwin, 'schema' | 'name' | 'definition' | 'parsed'>

/** Not as it was made, whatever it is. */
export const unprintable = { definition: '', parsed: null }

/** Of the rule of a twin, as stored and compressed: more than one of ours takes. */
const mostStoredBytes = 1_048_576

/** Bytes, in every encoding. */
const mostOfCharacter = 4

/** The limit of one statement, with more for each twin. A print waits for locks, and a role can make it take long. */
const leastMs = 500
const eachMs = 5
/** Of all statements about the twins of one kind of owner. */
const inAllMs = 3000

/** Fails where one of them cannot be printed. A definition that is far longer than the one that was made is not sent: it is another. */
export async function printTwins(
  tx: Tx,
  twins: readonly MadeTwin[],
  statementTimeout: string,
): Promise<PrintedTwin[]> {
  if (twins.length === 0) return []
  const setLimit = (limit: string) => tx`select set_config('statement_timeout', ${limit}, true)`
  const [, printed] = await Promise.all([
    setLimit(String(leastMs + eachMs * twins.length)),
    tx<PrintedTwin[]>`
      select t.s as schema, t.r as name, p.parsed,
        case when pg_catalog.octet_length(p.definition) <= t.most then p.definition else '' end as definition
      from unnest(${twins.map(({ schema }) => schema)}::text[], ${twins.map(({ name }) => name)}::text[],
        ${twins.map(({ made }) => (made?.length ?? 0) * mostOfCharacter)}::int4[]) as t(s, r, most)
      join pg_catalog.pg_namespace n on n.nspname = t.s
      join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = t.r
      join pg_catalog.pg_rewrite w on w.ev_class = c.oid and w.rulename = '_RETURN'
        and pg_catalog.pg_column_size(w.ev_action) <= ${mostStoredBytes}
      cross join lateral (select pg_catalog.pg_get_viewdef(c.oid) as definition,
        ${tx.unsafe(hashParsed('pg_rewrite', 'w'))} as parsed offset 0) p`,
    setLimit(statementTimeout),
  ])
  return printed
}

/**
 * The same without those that cannot be printed. The owner of a view owns its twin, and may give it a rule that PostgreSQL stores and fails to
 * print: one that is nested too deep, that takes long, or with a type without a dependency, as of an empty array, that is dropped later.
 * A lock is in the way as well. No role must keep others from their masks, so every failure but that of the connection, after which
 * the next statement fails too, is one of the twin. Those of our own roles come first, with a time of their own.
 */
export async function printByHalves(
  tx: Tx,
  twins: readonly MadeTwin[],
  ownerOf: (twin: MadeTwin) => string,
  statementTimeout: string,
): Promise<PrintedTwin[]> {
  const isOurs = (twin: MadeTwin) => isTwinOwnerName(ownerOf(twin))
  const printed: PrintedTwin[] = []
  for (const some of [twins.filter(isOurs), twins.filter((twin) => !isOurs(twin))]) {
    const until = Date.now() + inAllMs + eachMs * some.length
    const attempt = async (part: readonly MadeTwin[]): Promise<void> => {
      if (Date.now() > until) return
      try {
        printed.push(...(await tx.savepoint(() => printTwins(tx, part, statementTimeout))))
      } catch {
        if (part.length === 1) return
        // By halves: one of thousands is found by a few statements.
        const half = part.length >> 1
        await attempt(part.slice(0, half))
        await attempt(part.slice(half))
      }
    }
    await attempt(some)
  }
  return printed
}
