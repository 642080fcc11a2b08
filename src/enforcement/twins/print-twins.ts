import { quoteQualified } from '../../db/quote.ts'
import type { Tx } from '../../db/transaction.ts'
import type { ObservedTwin, Twin } from '../catalog.ts'
import { isTwinOwnerName } from '../names.ts'
import { isLate, type PrintLimits, printByHalves, within } from '../print-by-halves.ts'
import type { Reading } from '../read-relations.ts'
import { hashParsed, hashRule, mostStoredBytes } from './parsed.ts'

type MadeTwin = Pick<Twin, 'schema' | 'name' | 'made' | 'parsed' | 'rule'>

type PrintedTwin = Pick<ObservedTwin, 'schema' | 'name' | 'definition' | 'parsed'>

/** Not as it was made, whatever it is. */
export const unprintable = { definition: '', parsed: null }

/** Bytes, in every encoding. */
const mostOfCharacter = 4

const usual: PrintLimits = { togetherMs: 500, leastMs: 500, eachMs: 5, inAllMs: 3000 }

type Limits = Pick<Reading, 'statementTimeout' | 'printing'>

export class TwinsLate extends Error {
  constructor(cause: unknown) {
    super('twins could not be printed in time', { cause })
  }
}

/** Fails where one of them cannot be printed: with `TwinsLate` where the time ran out. */
export async function printTwins(
  tx: Tx,
  twins: readonly MadeTwin[],
  { statementTimeout, printing: { limits = usual, isSpared } }: Limits,
): Promise<readonly PrintedTwin[]> {
  const limitOf = ({ togetherMs, eachMs }: PrintLimits, some: readonly MadeTwin[]) =>
    togetherMs + eachMs * some.length
  const recorded = isSpared ? twins.filter(isRecorded) : []
  const unchanged =
    recorded.length === 0
      ? []
      : await within(tx, limitOf(usual, recorded), statementTimeout, selectUnchanged(tx, recorded))
  const known = asMade(recorded, unchanged)
  const keys = new Set(known.map(keyOf))
  const rest = twins.filter((twin) => !keys.has(keyOf(twin)))
  if (rest.length === 0) return known
  try {
    return [...known, ...(await within(tx, limitOf(limits, rest), statementTimeout, selectPrints(tx, rest)))]
  } catch (error) {
    throw isLate(error) ? new TwinsLate(error) : error
  }
}

/** A definition that is far longer than the one that was made is not sent: it is another. */
function selectPrints(tx: Tx, twins: readonly MadeTwin[]) {
  return tx<PrintedTwin[]>`
    select t.s as schema, t.r as name, p.parsed,
      case when pg_catalog.octet_length(p.definition) <= t.most then p.definition else '' end as definition
    from unnest(${twins.map(({ schema }) => schema)}::text[], ${twins.map(({ name }) => name)}::text[],
      ${twins.map(({ made }) => (made?.length ?? 0) * mostOfCharacter)}::int4[]) as t(s, r, most)
    join pg_catalog.pg_namespace n on n.nspname = t.s
    join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = t.r
    join pg_catalog.pg_rewrite w on w.ev_class = c.oid and w.rulename = '_RETURN'
      and pg_catalog.pg_column_size(w.ev_action) <= ${mostStoredBytes}
    cross join lateral (select pg_catalog.pg_get_viewdef(c.oid) as definition,
      ${tx.unsafe(hashParsed('pg_rewrite', 'w'))} as parsed offset 0) p`
}

/**
 * The same without those that cannot be printed. The owner of a view owns its twin, and may give it a rule that PostgreSQL stores and fails to
 * print: one that is nested too deep, or with a type without a dependency, as of an empty array, that is dropped later. No role
 * must keep others from their masks, so every failure but that of the connection is one of the twin; a lock is in the way as well. A twin
 * that takes long, also as the server is slow, is known again by its stored rule: made again in each turn, it would never settle. Those
 * of our own roles come first, with a time of their own.
 */
export async function printCarefully(
  tx: Tx,
  twins: readonly MadeTwin[],
  ownerOf: (twin: MadeTwin) => string,
  { statementTimeout, printing: { limits = usual } }: Limits,
): Promise<PrintedTwin[]> {
  const isOurs = (twin: MadeTwin) => isTwinOwnerName(ownerOf(twin))
  const found: PrintedTwin[] = []
  for (const some of [twins.filter(isOurs), twins.filter((twin) => !isOurs(twin))]) {
    const print = (part: readonly MadeTwin[]) => selectPrints(tx, part)
    const { printed, late } = await printByHalves(tx, some, limits, statementTimeout, print)
    const recorded = late.filter(isRecorded)
    const compare = (part: readonly MadeTwin[]) => selectUnchanged(tx, part)
    const unchanged = await printByHalves(tx, recorded, usual, statementTimeout, compare)
    found.push(...printed, ...asMade(recorded, unchanged.printed))
  }
  return found
}

type Named = Pick<Twin, 'schema' | 'name'>

const keyOf = ({ schema, name }: Named) => quoteQualified(schema, name)

const isRecorded = ({ rule }: MadeTwin) => typeof rule === 'string'

/** Those whose rule is the recorded one. It waits for no lock, and takes long by the length of rules alone. */
function selectUnchanged(tx: Tx, twins: readonly MadeTwin[]) {
  return tx<Named[]>`
    select t.s as schema, t.r as name
    from unnest(${twins.map(({ schema }) => schema)}::text[], ${twins.map(({ name }) => name)}::text[],
      ${twins.map(({ rule }) => rule)}::text[]) as t(s, r, rule)
    join pg_catalog.pg_namespace n on n.nspname = t.s
    join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = t.r
    join pg_catalog.pg_rewrite w on w.ev_class = c.oid and w.rulename = '_RETURN'
    where ${tx.unsafe(hashRule('w'))} = t.rule`
}

/** The recorded prints of those that are unchanged. */
function asMade(twins: readonly MadeTwin[], unchanged: readonly Named[]): PrintedTwin[] {
  const keys = new Set(unchanged.map(keyOf))
  return twins
    .filter((twin) => keys.has(keyOf(twin)))
    .map(({ schema, name, made, parsed = null }) => ({ schema, name, definition: made, parsed }))
}
