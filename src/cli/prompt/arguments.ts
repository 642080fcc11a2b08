import { parseArgs } from 'node:util'
import { OperatorError } from '../../kernel/operator-error.ts'
import { isOn } from './backslash.ts'
import type { Action } from './prompt.ts'

const options = {
  command: { type: 'string', short: 'c', multiple: true },
  file: { type: 'string', short: 'f', multiple: true },
  expanded: { type: 'boolean', short: 'x' },
  variable: { type: 'string', short: 'v', multiple: true },
  set: { type: 'string', multiple: true },
  // Nothing of what these turn off is here.
  'no-psqlrc': { type: 'boolean', short: 'X' },
  quiet: { type: 'boolean', short: 'q' },
  'no-password': { type: 'boolean', short: 'w' },
} as const

/** Those of psql's arguments that the prompt knows. */
export function readPromptArgs(args: readonly string[]): {
  actions: Action[]
  isExpanded: boolean
  stopsOnError: boolean
} {
  const { values, tokens } = parse(args)
  const actions = tokens.flatMap((token): Action[] => {
    if (token.kind !== 'option') return []
    if (token.name === 'command') return [{ kind: 'command', text: token.value ?? '' }]
    return token.name === 'file' ? [{ kind: 'file', name: token.value ?? '' }] : []
  })
  const settings = [...(values.variable ?? []), ...(values.set ?? [])]
  const unknown = settings.find((text) => !/^ON_ERROR_STOP(=|$)/.test(text))
  if (unknown !== undefined) refuse(`There is no variable '${unknown.slice(0, 100)}'`)
  return {
    actions,
    isExpanded: values.expanded === true,
    stopsOnError: settings.some((text) => isOn(text.split('=')[1] ?? 'off')),
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, strict: true, tokens: true })
  } catch (cause) {
    return refuse((cause as Error).message.split('. ')[0] ?? '', cause)
  }
}

function refuse(reason: string, cause?: unknown): never {
  throw new OperatorError(
    `${reason}: psql is not installed, and the prompt in its place knows -c, -f, -x and -v ON_ERROR_STOP=1.`,
    { exitCode: 2, cause },
  )
}
