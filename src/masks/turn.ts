import type { Database } from '../db/database.ts'
import { tracer } from '../kernel/tracer.ts'
import { isHeldByOthers, NameHeld } from '../sessions/holder.ts'
import { judge, retry } from './apply/outcomes.ts'
import type { Unfinished } from './plan/model.ts'
import { type Phase, type PolicySource, run, type TurnOptions, type TurnResult } from './run.ts'

export type { PolicySource, TurnOptions, TurnResult } from './run.ts'

type Take = (phase: Phase) => Promise<TurnResult>

/**
 * Makes the database as the policy says, in one transaction. Where a lock or a refusal keeps that from being done,
 * the same groups one by one: everything that is to be closed first.
 */
export function takeTurn(
  database: Database,
  policy: PolicySource,
  options: TurnOptions = {},
): Promise<TurnResult> {
  const take: Take = (phase) => run(database, policy, options, phase)
  const work = () =>
    retry('together', () => take({ name: 'together' })).catch((error: unknown) => {
      if (judge(error) === 'lost') throw error
      // Definitions behind a lock are left out.
      return options.dryRun ? take({ name: 'opening' }) : takeOneByOne(database, take, options)
    })
  if (!tracer) return work()
  return tracer.run('enforcement', { 'masquerade.dry_run': options.dryRun ?? false }, work)
}

async function takeOneByOne(database: Database, take: Take, options: TurnOptions): Promise<TurnResult> {
  let closed = await close(database, take, options)
  const overdue = options.overdue?.() ?? new Set()
  const isOverdue = ({ oids: [oid = 0] }: Unfinished) => overdue.has(oid)
  if (closed.unfinished.some(isOverdue))
    closed = join(closed, await close(database, take, options, overdue), (one) => !isOverdue(one))
  try {
    const opened = await retry('alone', () => take({ name: 'opening' }))
    const open = new Set(closed.unfinished.map(({ target }) => target))
    const late = opened.unfinished.filter(({ target }) => !open.has(target))
    return join(closed, { ...opened, unfinished: late }, () => true)
  } catch (error) {
    await options.onUnopened?.(closed).catch(() => {})
    throw error
  }
}

/** Where another session holds the name of our schema, another name is taken. */
async function close(
  { sql }: Database,
  take: Take,
  { onClosed }: TurnOptions,
  insists?: Phase['insists'],
): Promise<TurnResult> {
  let renamesGuard = false
  const result = await retry('alone', async (failure) => {
    renamesGuard ||= failure instanceof NameHeld && (await isHeldByOthers(sql, failure.holders))
    return await take({ name: 'closing', renamesGuard, ...(insists && { insists }) })
  })
  return onClosed && result.version !== '' ? { ...result, open: await onClosed(result) } : result
}

const join = (first: TurnResult, second: TurnResult, isKept: (one: Unfinished) => boolean): TurnResult => ({
  ...second,
  steps: [...first.steps, ...second.steps],
  unfinished: [...first.unfinished.filter(isKept), ...second.unfinished],
})
