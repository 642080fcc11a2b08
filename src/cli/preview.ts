import { nameState } from '../kernel/enforcement-state.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { apiHelp, openApi } from './api.ts'
import { type Command, readArgs } from './command.ts'
import { databaseHelp, lookOptions, policyPathOf } from './look.ts'
import { maskOptions, readMaskProperties } from './mask-options.ts'
import { report } from './surroundings.ts'
import { readTable } from './suspend.ts'
import { renderRows, showText } from './table.ts'

const options = {
  ...lookOptions,
  table: { type: 'string' },
  top: { type: 'string' },
  ...maskOptions,
} as const

interface Shown {
  readonly masks: { readonly state: string; readonly areInForce: boolean; readonly reason: string | null }
  readonly columns: readonly {
    readonly name: string
    readonly maskingFunction: string | null
    readonly isDraft: boolean
  }[]
  readonly rows: readonly {
    readonly values: readonly (string | null)[]
    readonly raw?: readonly (string | null)[]
  }[]
}

export const preview: Command = {
  name: 'preview',
  summary: 'Show some rows of a table under its masks, and whether these are in force',
  help: `
Usage: masquerade preview -d DATABASE --table SCHEMA.TABLE [--top N] [--json]
       masquerade preview -d DATABASE --table SCHEMA.TABLE --column COLUMN --function FUNCTION [options]

Shows rows of the table under the rules it has, or with a rule more that is not saved (draft): Number takes --from and
--to, Text takes --prefix, --suffix and --replacement. Where masks are not in force, so that roles may read raw values,
it says so first. Raw values are shown beside the masked ones only to callers that the policy exempts.
${databaseHelp}

  --top N          How many rows, 50 at most; 10 unless said.
${apiHelp}`,
  options,
  async run(args) {
    const { values } = readArgs('preview', args, { options })
    const path = policyPathOf(values.database, 'preview')
    const request = { ...readTable('preview', values.table), ...readRule(values), ...readTop(values.top) }
    const api = await openApi(values)
    const { body } = await api.send<Shown>('POST', `${path}/preview`, request)
    report(values, body, `${inWords(body)}\n`)
    return 0
  },
}

type Values = ReturnType<typeof readArgs<{ options: typeof options }>>['values']

function readRule(values: Values): { rule?: object } {
  const { column, function: maskingFunction } = values
  if ((column === undefined) !== (maskingFunction === undefined))
    throw new OperatorError('--column and --function go together.', { exitCode: 2 })
  if (column === undefined) return {}
  return {
    rule: {
      columnName: column,
      maskingFunction,
      ...readMaskProperties(values),
    },
  }
}

function readTop(text: string | undefined): { top?: number } {
  if (text === undefined) return {}
  if (!/^\d{1,2}$/.test(text)) throw new OperatorError('--top takes a number from 1 to 50.', { exitCode: 2 })
  return { top: Number(text) }
}

const widest = 40

/** A masked column is marked with a star; for the exempt, its raw value stands behind the masked one. */
function inWords({ masks, columns, rows }: Shown): string {
  const head = columns.map(
    ({ name, maskingFunction, isDraft }) =>
      `${name}${maskingFunction === null ? '' : '*'}${isDraft ? ' (draft)' : ''}`,
  )
  const lines = rows.map(({ values, raw }) =>
    values.map((value, at) => {
      const isMasked = columns[at]?.maskingFunction !== null
      return raw && isMasked ? `${show(value)} (${show(raw[at] ?? null)})` : show(value)
    }),
  )
  const { state, areInForce, reason } = masks
  const isMasked = columns.some(({ maskingFunction }) => maskingFunction !== null)
  const now = areInForce ? '' : `${nameState(state)}: ${showText(reason ?? '')}\n`
  const then = isMasked && !areInForce ? 'This is what masks would show:\n' : ''
  return `${now}${then}${renderRows([head, ...lines]).trimEnd()}`
}

/** Rows are others' data: nothing in them reaches the terminal as a command to it. */
function show(value: string | null): string {
  if (value === null) return '-'
  const plain = value.replaceAll(/\p{C}/gu, '·')
  return plain.length > widest ? `${plain.slice(0, widest - 1)}…` : plain
}
