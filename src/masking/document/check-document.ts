import { type Detail, fail } from '../../kernel/problem.ts'
import { fold } from '../place.ts'
import { readExemptPrincipals, splitEntries } from '../policy/exempt-entries.ts'
import { type Place, resolveGroups } from '../policy/exemptions.ts'
import { readNotContained } from '../policy/policy.ts'
import type { Site } from '../resource.ts'
import { checkIdentifierLengths, fitColumn } from '../rules/fit-column.ts'
import { columnFields } from '../rules/rule-fields.ts'
import { checkRule } from '../rules/validate-rule.ts'
import type { CheckedDocument, DocumentInput, NamedRule } from './document.ts'

const mostRules = 10_000

/** Where something is wrong, by the place of the rule in the document. */
interface DocumentFault {
  readonly at: number
  readonly name: string
  readonly field: string
  readonly reason: string
}

/**
 * Checks a whole document before anything of it is stored: every rule by itself, against the others, and against the
 * catalog of the bound database where that can be reached. Refuses with all faults at once.
 */
export async function checkDocument(
  input: DocumentInput,
  place: Place & Pick<Site, 'apiVersion'>,
): Promise<CheckedDocument> {
  const { database, ports, apiVersion } = place
  const sent = input.rules ?? []
  const target = 'properties.policy.notContained'
  const notContained = readNotContained(input.policy?.notContained, apiVersion, target)
  if (sent.length > mostRules)
    fail('InvalidMaskingDocument', { reason: `it may have at most ${mostRules} rules.` })
  const checked = sent.map(({ name, ...properties }, at) => ({ at, name, ...checkRule(properties) }))
  const rules = checked.flatMap(({ at, name, rule }) => (rule ? [{ at, rule: { ...rule, name } }] : []))
  refuse([
    ...checked.flatMap(({ at, name, faults }) => faults.map((fault) => ({ at, name, ...fault }))),
    ...checked.flatMap(({ at, name }) => checkName(at, name)),
    ...findRepeated(rules),
    ...rules.flatMap(({ at, rule }) =>
      checkIdentifierLengths(rule).map((fault) => ({ at, name: rule.name, ...fault })),
    ),
  ])
  if (database?.bound && rules.length > 0) {
    const reached = await ports.catalogs.findColumns(
      database,
      rules.map(({ rule }) => rule),
    )
    if ('value' in reached)
      refuse(
        reached.value.flatMap((column, index) => {
          const { at, rule } = rules[index] as (typeof rules)[number]
          return fitColumn(rule, column).map((fault) => ({ at, name: rule.name, ...fault }))
        }),
      )
  }
  return {
    ...(input.rules && { rules: rules.map(({ rule }) => rule) }),
    ...(input.policy && {
      policy: {
        policyState: input.policy.dataMaskingState,
        ...(input.policy.enforcementMode && { policyMode: input.policy.enforcementMode }),
        exemptPrincipals: await readEntries(input.policy.exemptPrincipals ?? [], place),
        ...(notContained && { notContained }),
      },
    }),
  }
}

async function readEntries(entries: readonly string[], place: Place): Promise<string> {
  const at = entries.findIndex((entry) => entry.includes(';'))
  if (at >= 0) refuseEntry(at, "names one principal, without ';'")
  const known = readExemptPrincipals(entries.join(';'))
  const resolved = await resolveGroups(splitEntries(known), { ...place, refuse: refuseEntry })
  return readExemptPrincipals(resolved.join(';'))
}

function refuseEntry(at: number, reason: string): never {
  const target = `properties.policy.exemptPrincipals[${at}]`
  return fail('InvalidMaskingDocument', { reason: `'${target}' ${reason}.` }, { target })
}

function checkName(at: number, name: string): DocumentFault[] {
  const length = [...name].length
  const isValid = length >= 1 && length <= 128 && !/[\p{Cc}\p{Cs}]/u.test(name)
  const reason = 'must have 1 to 128 characters, none of them a control character'
  return isValid ? [] : [{ at, name, field: 'name', reason }]
}

/** A name and a column can each stand in one rule alone. */
function findRepeated(rules: readonly { readonly at: number; readonly rule: NamedRule }[]): DocumentFault[] {
  const faults: DocumentFault[] = []
  const [names, columns] = [new Set<string>(), new Map<string, string>()]
  for (const { at, rule } of rules) {
    const { name } = rule
    if (names.has(fold(name))) faults.push({ at, name, field: 'name', reason: 'is that of an earlier rule' })
    names.add(fold(name))
    const column = JSON.stringify(columnFields.map((field) => rule[field]))
    const holder = columns.get(column)
    if (holder !== undefined)
      faults.push({
        at,
        name,
        field: 'columnName',
        reason: `has a rule in this document already: '${holder}'`,
      })
    columns.set(column, name)
  }
  return faults
}

function refuse(faults: readonly DocumentFault[]): void {
  if (faults.length === 0) return
  const details = faults.map(({ at, name, field, reason }): Detail => {
    const target = `properties.rules[${at}].${field}`
    const message = `'${target}' of the rule '${name.slice(0, 128)}' ${reason.replace(/([^.;?])$/, '$1.')}`
    return { code: 'InvalidValue', message, target }
  })
  const reason = details.map(({ message }) => message).join(' ')
  fail('InvalidMaskingDocument', { reason }, { target: details[0]?.target ?? '', details })
}
