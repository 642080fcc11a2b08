import type { Database } from '../db/database.ts'
import { tracer } from '../kernel/tracer.ts'
import { decide, judge } from './apply/outcomes.ts'
import type { Unfinished } from './plan/model.ts'
import { type Phase, run } from './run.ts'
import { isHeldByOthers, NameHeld } from './sessions/name-holders.ts'
import type { PolicySource, TurnOptions, TurnResult } from './turn-options.ts'

export type { PolicySource, TurnOptions, TurnResult } from './turn-options.ts'

/**
 * Makes the database as the policy says, in one transaction. Where a lock or a refusal keeps that from being done,
 * the same groups one by one: everything that is to be closed first.
 */
export function takeTurn(
  database: Database,
  policy: PolicySource,
  options: TurnOptions = {},
): Promise<TurnResult> {
  const work = () => takeUntilDone(database, policy, options)
  if (!tracer) return work()
  return tracer.run('enforcement', { 'masquerade.dry_run': options.dryRun ?? false }, work)
}

async function takeUntilDone(
  database: Database,
  policy: PolicySource,
  options: TurnOptions,
): Promise<TurnResult> {
  for (let attempt = 1; ; attempt++)
    try {
      return await run(database, policy, options, { name: 'together' })
    } catch (error) {
      const next = decide(error, attempt)
      if (next === 'give up') throw error
      if (next === 'again') continue
      // Definitions behind a lock are left out.
      if (options.dryRun) return await run(database, policy, options, { name: 'opening' })
      return await takeOneByOne(database, policy, options)
    }
}

async function takeOneByOne(
  database: Database,
  policy: PolicySource,
  options: TurnOptions,
): Promise<TurnResult> {
  const close = async (phase: Pick<Phase, 'insists'>) => {
    const result = await again(database, (renamesGuard) =>
      run(database, policy, options, { name: 'closing', renamesGuard, ...phase }),
    )
    if (result.version !== '') await options.onClosed?.(result.snapshot.guard.schema)
    return result
  }
  let closed = await close({})
  const overdue = options.overdue?.() ?? new Set()
  const isOverdue = ({ oids: [oid = 0] }: Unfinished) => overdue.has(oid)
  if (closed.unfinished.some(isOverdue))
    closed = join(closed, await close({ insists: overdue }), (one) => !isOverdue(one))
  try {
    const opened = await again(database, () => run(database, policy, options, { name: 'opening' }))
    const open = new Set(closed.unfinished.map(({ target }) => target))
    const late = opened.unfinished.filter(({ target }) => !open.has(target))
    return join(closed, { ...opened, unfinished: late }, () => true)
  } catch (error) {
    await options.onUnopened?.(closed).catch(() => {})
    throw error
  }
}

/** Another session changed the same rows of the catalog, or holds the name of our schema: then another one is taken. */
async function again(
  database: Database,
  take: (renamesGuard: boolean) => Promise<TurnResult>,
): Promise<TurnResult> {
  let renamesGuard = false
  for (let attempt = 1; ; attempt++)
    try {
      return await take(renamesGuard)
    } catch (error) {
      const outcome = judge(error)
      if (outcome === 'lost' || attempt >= (outcome === 'overtaken' ? 5 : 3)) throw error
      renamesGuard ||= error instanceof NameHeld && (await isHeldByOthers(database.sql, error.holders))
    }
}

const join = (first: TurnResult, second: TurnResult, isKept: (one: Unfinished) => boolean): TurnResult => ({
  ...second,
  steps: [...first.steps, ...second.steps],
  unfinished: [...first.unfinished.filter(isKept), ...second.unfinished],
})
