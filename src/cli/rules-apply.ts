import { OperatorError } from '../kernel/operator-error.ts'
import { askImpact, hasImpact, isConfirmed, renderImpact } from './impact.ts'
import { Refused } from './masking-api.ts'
import { type Rules, tellEnforcement } from './rules-client.ts'
import { diffRules, isEmpty, renderDiff } from './rules-diff.ts'
import type { FileRule, RulesFile } from './rules-file.ts'
import { showText } from './table.ts'

interface ApplyOptions {
  /** Its name, for messages. */
  readonly file: string
  readonly database: string
  readonly prune: boolean
  readonly yes: boolean
  readonly dryRun: boolean
}

/** Shows the difference, asks, and makes it so: all of it or nothing. */
export async function applyRules(rules: Rules, file: RulesFile, options: ApplyOptions): Promise<number> {
  const stored = await rules.document()
  const diff = diffRules(file, stored.rules, stored.policy)
  const text = renderDiff(diff, options.prune)
  if (isEmpty(diff, options.prune)) {
    process.stdout.write(`${text}Nothing to change: ${diff.unchanged} rules are as the file says.\n`)
    return options.dryRun ? 0 : tellEnforcement(rules)
  }
  const kept = options.prune ? [] : diff.absent
  const document = { rules: [...kept, ...file.rules], ...(file.policy && { policy: file.policy }) }
  const impact = await explainRefusals(file, kept, options, () => askImpact(rules, document))
  const consequences = impact && hasImpact(impact) ? renderImpact(impact, options.database) : ''
  process.stdout.write(consequences + text)
  if (options.dryRun) return printPlan(impact)
  if (!options.yes && !(await isConfirmed())) {
    process.stdout.write('Nothing was changed.\n')
    return 1
  }
  const { changes, exemptions } = await explainRefusals(file, kept, options, () =>
    rules.replace(document, stored.tag),
  )
  const { created, updated, deleted, unchanged } = changes
  for (const { entry, kind } of exemptions)
    if (kind === 'Nothing')
      process.stderr.write(`'${showText(entry)}' is exempt, and names no role, user, group or application.\n`)
  process.stdout.write(
    `Done: ${created} created, ${updated} updated, ${deleted} deleted, ${unchanged - kept.length} as they were.\n`,
  )
  return tellEnforcement(rules)
}

/** The statements that would run, each with its reason. */
function printPlan(impact: Awaited<ReturnType<typeof askImpact>>): number {
  for (const { sql, why } of impact?.statements ?? [])
    process.stdout.write(`${showText(sql.replaceAll(/\s+/g, ' '))}; -- ${showText(why)}\n`)
  return 0
}

/** Says where in the file something is wrong. `kept` rules stand before those of the file in the document. */
async function explainRefusals<T>(
  { rules, lines }: RulesFile,
  kept: readonly FileRule[],
  { file, prune }: ApplyOptions,
  send: () => Promise<T>,
): Promise<T> {
  try {
    return await send()
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    if (error.status === 412) throw new OperatorError('The rules changed meanwhile. Run it again.')
    const faults = error.parts.map(({ target = '', message }) => {
      const [, at, field] = /^properties\.rules\[(\d+)\]\.(\w+)$/.exec(target) ?? []
      const place = Number(at) - kept.length
      const rule = rules[place]
      const reason = message.replace(/^'[^']*' (of the rule '.*?' (?=[a-z]))?/, '')
      return rule
        ? `${file}:${lines?.[place] ?? '?'}: ${rule.name}: ${field} ${reason}`
        : `${file}: ${message}`
    })
    if (faults.length === 0) throw error
    const hint = prune || kept.length === 0 ? '' : ' (--prune deletes the rules that the file does not have.)'
    throw new OperatorError(`Nothing was changed.\n${faults.join('\n')}${hint}`, { cause: error })
  }
}
