import { createInterface } from 'node:readline/promises'
import { OperatorError } from '../kernel/operator-error.ts'
import { Refused } from './masking-api.ts'
import { type Rules, tellEnforcement } from './rules-client.ts'
import { diffRules, isEmpty, type RulesDiff, renderDiff } from './rules-diff.ts'
import type { FileRule, RulesFile } from './rules-file.ts'

interface ApplyOptions {
  readonly prune: boolean
  readonly yes: boolean
  readonly dryRun: boolean
}

/** Shows the difference, asks, and makes it so. */
export async function applyRules(rules: Rules, file: RulesFile, options: ApplyOptions): Promise<number> {
  const diff = diffRules(file, await rules.list(), await rules.policy())
  process.stdout.write(renderDiff(diff, options.prune))
  if (isEmpty(diff, options.prune)) {
    process.stdout.write(`Nothing to change: ${diff.unchanged} rules are as the file says.\n`)
    return 0
  }
  if (options.dryRun) return 0
  if (!options.yes && !(await isConfirmed())) {
    process.stdout.write('Nothing was changed.\n')
    return 1
  }
  await carryOut(rules, diff, options.prune)
  const deleted = options.prune ? diff.absent.length : 0
  process.stdout.write(
    `Done: ${diff.create.length} created, ${diff.update.length} updated, ${deleted} deleted, ${diff.unchanged} as they were.\n`,
  )
  return tellEnforcement(rules)
}

async function isConfirmed(): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new OperatorError('Nothing was changed: this is not a terminal, so say --yes to apply it.', {
      exitCode: 2,
    })
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return /^y(es)?$/i.test((await terminal.question('Apply this? [y/N] ')).trim())
  } finally {
    terminal.close()
  }
}

/**
 * Masks first, deletions after them: a column is without a mask only where its one rule goes or gets another name. What
 * stands in the way of another change is tried again when that is gone.
 */
async function carryOut(rules: Rules, diff: RulesDiff, prune: boolean): Promise<void> {
  const blocked = await putAll(rules, [...diff.update.map(({ after }) => after), ...diff.create])
  if (prune) for (const { name } of diff.absent) await rules.remove(name)
  let left = blocked
  while (left.length > 0) {
    const still = await putAll(rules, left)
    if (still.length === left.length) await explainBlock(rules, still)
    left = still
  }
  if (diff.policy) await rules.setPolicy(diff.policy.after)
}

/** Returns those whose column has another rule for now. */
async function putAll(rules: Rules, wanted: readonly FileRule[]): Promise<FileRule[]> {
  const blocked: FileRule[] = []
  for (const rule of wanted)
    try {
      await rules.put(rule)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      if (error.status !== 409) throw new OperatorError(`${rule.name}: ${error.message}`, { cause: error })
      blocked.push(rule)
    }
  return blocked
}

async function explainBlock(rules: Rules, [first]: readonly FileRule[]): Promise<never> {
  if (!first) throw new Error('nothing is blocked')
  try {
    await rules.put(first)
  } catch (error) {
    throw new OperatorError(
      `${first.name}: ${(error as Error).message} (--prune deletes what the file has not.)`,
      {
        cause: error,
      },
    )
  }
  throw new OperatorError(`The rules changed meanwhile. Run it again.`)
}
