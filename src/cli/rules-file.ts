import { isNode, isSeq, LineCounter, parseDocument, stringify } from 'yaml'
import { nearestNames } from '../kernel/nearest-names.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import {
  type OptionalField,
  optionalFields,
  type RequiredField,
  requiredFields,
} from '../masking/rules/rule-fields.ts'

/** A rule as the file and the API name its parts; what is not set is left out. */
export type FileRule = Readonly<
  { name: string } & Record<RequiredField, string> & Partial<Record<OptionalField, string>>
>

export interface FilePolicy {
  readonly dataMaskingState: string
  /** Left out, it stays as it is. */
  readonly enforcementMode?: string
  readonly exemptPrincipals: readonly string[]
  /** Left out, it stays as it is. */
  readonly notContained?: string
}

export interface RulesFile {
  readonly database?: string
  readonly policy?: FilePolicy
  readonly rules: readonly FileRule[]
  /** The line at which each rule begins. */
  readonly lines?: readonly number[]
}

const required = ['name', ...requiredFields] as const

/** Scalars stay the text they are: a bound such as 0.10 or 007 must not become another on its way. */
export function parseRulesFile(content: string, file: string): RulesFile {
  const counter = new LineCounter()
  const document = parseDocument(content, {
    schema: 'failsafe',
    maxAliasCount: 0,
    lineCounter: counter,
  } as object)
  const [fault] = document.errors
  if (fault) refuse(file, fault.message.split('\n')[0] ?? 'it is not YAML')
  const whole = asRecord(document.toJS(), file, 'the file')
  checkKeys(whole, ['database', 'policy', 'rules'], file, 'the file')
  const lines = findLines(document.get('rules'), counter)
  const rules = asList(whole.rules ?? [], file, 'rules').map((item, at) =>
    readRule(item, `${file}:${lines[at] ?? '?'}`, at + 1),
  )
  const names = new Set<string>()
  const twice = rules
    .map(({ name }) => name.toLowerCase())
    .find((name) => names.size === names.add(name).size)
  if (twice !== undefined) refuse(file, `the rule '${twice}' is there twice`)
  return {
    ...(whole.database !== undefined && { database: asText(whole.database, file, 'database') }),
    ...(whole.policy !== undefined && { policy: readPolicy(whole.policy, file) }),
    rules,
    lines,
  }
}

function findLines(rules: unknown, counter: LineCounter): number[] {
  const items = isSeq(rules) ? rules.items : []
  return items.map((item) => (isNode(item) ? counter.linePos(item.range?.[0] ?? 0).line : 0))
}

export function formatRulesFile({ database, policy, rules }: RulesFile): string {
  return stringify({ database, policy, rules }, { lineWidth: 0 })
}

function readRule(item: unknown, file: string, position: number): FileRule {
  const place = `rule ${position}`
  const record = asRecord(item, file, place)
  checkKeys(record, [...required, ...optionalFields], file, place)
  for (const field of required)
    if (record[field] === undefined || record[field] === '') refuse(file, `${place} has no ${field}`)
  const entries = Object.entries(record).map(([field, value]) => [
    field,
    asText(value, file, `${place}: ${field}`),
  ])
  return Object.fromEntries(entries) as unknown as FileRule
}

function readPolicy(value: unknown, file: string): FilePolicy {
  const record = asRecord(value, file, 'policy')
  const known = ['dataMaskingState', 'enforcementMode', 'exemptPrincipals', 'notContained']
  checkKeys(record, known, file, 'policy')
  return {
    dataMaskingState: asText(record.dataMaskingState, file, 'policy: dataMaskingState'),
    ...(record.enforcementMode !== undefined && {
      enforcementMode: asText(record.enforcementMode, file, 'policy: enforcementMode'),
    }),
    exemptPrincipals: asList(record.exemptPrincipals ?? [], file, 'policy: exemptPrincipals').map((entry) =>
      asText(entry, file, 'policy: exemptPrincipals'),
    ),
    ...(record.notContained !== undefined && {
      notContained: asText(record.notContained, file, 'policy: notContained'),
    }),
  }
}

function asRecord(value: unknown, file: string, place: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  return refuse(file, `${place} must be a mapping`)
}

function asList(value: unknown, file: string, place: string): unknown[] {
  return Array.isArray(value) ? value : refuse(file, `${place} must be a list`)
}

function asText(value: unknown, file: string, place: string): string {
  return typeof value === 'string' ? value : refuse(file, `${place} must be a single value`)
}

function checkKeys(record: object, known: readonly string[], file: string, place: string): void {
  const unknown = Object.keys(record).find((key) => !known.includes(key))
  if (unknown === undefined) return
  const [nearest] = nearestNames(unknown, known)
  const hint = nearest === undefined ? `is not one of ${known.join(', ')}` : `should perhaps be '${nearest}'`
  refuse(file, `${place} has '${unknown.slice(0, 100)}', which ${hint}`)
}

function refuse(file: string, reason: string): never {
  throw new OperatorError(`${file}: ${reason}.`, { exitCode: 2 })
}
