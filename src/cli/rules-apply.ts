import { countOf } from '../kernel/count-of.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import type { Exemption } from '../masking/policy/exemptions.ts'
import { Refused } from './api.ts'
import { askImpact, hasImpact, leave, renderImpact, type Wishes } from './impact.ts'
import { isConfirmed } from './input.ts'
import { isUnsettled, type Rules, tellEnforcement } from './rules-client.ts'
import { diffRules, isEmpty, renderDiff } from './rules-diff.ts'
import type { FileRule, RulesFile } from './rules-file.ts'
import { announce, report, warn } from './surroundings.ts'
import { showStatement, showText } from './table.ts'

interface ApplyOptions extends Wishes {
  /** Its name, for messages. */
  readonly file: string
  /** Rules are only added: those that are there are no matter. */
  readonly isAddition?: boolean
  readonly prune?: boolean | undefined
  readonly 'dry-run'?: boolean | undefined
}

/** Shows the difference, asks, and makes it so: all of it or nothing. */
export async function applyRules(rules: Rules, file: RulesFile, options: ApplyOptions): Promise<number> {
  const stored = await rules.document()
  const { prune = false, 'dry-run': dryRun = false } = options
  const diff = diffRules(file, stored.rules, stored.policy)
  const text = renderDiff(options.isAddition ? { ...diff, absent: [] } : diff, prune)
  if (isEmpty(diff, prune)) {
    const words = `${text}Nothing to change: ${countOf(diff.unchanged, 'rule is', 'rules are')} as the file says.\n`
    report(options, { created: 0, updated: 0, deleted: 0, unchanged: diff.unchanged }, words)
    return dryRun ? 0 : tellEnforcement(rules)
  }
  const kept = prune ? [] : diff.absent
  const document = { rules: [...kept, ...file.rules], ...(file.policy && { policy: file.policy }) }
  const impact = await explainRefusals(file, kept, options, () => askImpact(rules, document))
  const consequences = impact && hasImpact(impact) ? renderImpact(impact, options.database ?? '') : ''
  announce(options, consequences + text)
  warnOfNothing(impact?.exemptions ?? [])
  if (dryRun) return printPlan(options, impact)
  if (!options.yes && !(await isConfirmed())) return leave(options)
  const { changes, exemptions } = await explainRefusals(file, kept, options, () =>
    rules.replace(document, stored.tag),
  )
  const { created, updated, deleted, unchanged } = changes
  if (!impact) warnOfNothing(exemptions)
  const { state } = await rules.enforcement()
  report(
    options,
    { ...changes, exemptions },
    `${isUnsettled(state) ? 'Stored, and not enforced yet' : 'Done'}: ${created} created, ${updated} updated, ${deleted} deleted, ${unchanged - kept.length} as they were.\n`,
  )
  return tellEnforcement(rules)
}

function warnOfNothing(exemptions: readonly Exemption[]): void {
  for (const { entry, kind } of exemptions)
    if (kind === 'Nothing')
      warn(`'${showText(entry)}' is exempt, and names no role, user, group or application.\n`)
}

/** The statements that would run, each with its reason. */
function printPlan(options: ApplyOptions, impact: Awaited<ReturnType<typeof askImpact>>): number {
  const lines = (impact?.statements ?? []).map(
    ({ sql, why }) => `${showStatement(sql)}; -- ${showText(why)}\n`,
  )
  report(options, impact, lines.join('') || 'No statement would run in the database.\n')
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
