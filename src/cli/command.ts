import { type ParseArgsConfig, parseArgs } from 'node:util'
import { nearestNames } from '../kernel/nearest-names.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { exitCodes } from './exit-codes.ts'

export type Options = NonNullable<ParseArgsConfig['options']>

export interface Command {
  readonly name: string
  /** One line for the list of commands. */
  readonly summary: string
  /** Shown by `masquerade help <name>`. */
  readonly help: string
  readonly options?: Options
  /** The first words that it takes: `list`, `members add`. */
  readonly verbs?: readonly string[]
  /** Returns the exit code. */
  run(args: readonly string[]): Promise<number>
}

/** Commands by name; each is loaded when it is asked for. */
export type Commands = Readonly<Record<string, () => Promise<Command>>>

/** Values of the options of a command. */
export type ValuesOf<O extends Options> = ReturnType<
  typeof parseArgs<{ options: O; strict: true; allowPositionals: true }>
>['values']

/** An action of a command: its arguments, its options, and the function that runs it. */
export interface Verb<O extends Options> {
  /** Names of its arguments: `GROUP` is one, `FILE?` one or none, `PRINCIPAL…` one or more. */
  readonly takes?: readonly string[]
  run(values: ValuesOf<O>, ...names: string[]): Promise<number>
}

/** A command whose first word, or first two, say what to do. */
export function commandOf<const O extends Options>(definition: {
  readonly name: string
  readonly summary: string
  readonly help: string
  readonly options: O
  readonly verbs: Readonly<Record<string, Verb<O>>>
}): Command {
  const { name, verbs, options } = definition
  const known = Object.keys(verbs)
  return {
    ...definition,
    verbs: known,
    async run(args) {
      const { values, positionals } = readArgs(name, args, { options, allowPositionals: true })
      const [first = '', second = '', ...more] = positionals
      const pair = verbs[`${first} ${second}`]
      const verb = pair ?? (Object.hasOwn(verbs, first) ? verbs[first] : undefined)
      if (!verb)
        return refuseUse(name, first === '' ? `Say ${listWords(known)}` : refuseWord(first, second, known))
      const names = pair ? more : positionals.slice(1)
      const complaint = checkCount(pair ? `${first} ${second}` : first, verb.takes ?? [], names.length)
      if (complaint !== undefined) return refuseUse(name, complaint)
      return verb.run(values as ValuesOf<O>, ...names)
    },
  }
}

/** Options and arguments of a command; what it does not know is refused in one line. */
export function readArgs<const C extends ParseArgsConfig>(
  command: string,
  args: readonly string[],
  config: C,
) {
  try {
    return parseArgs({ ...config, args: [...args], strict: true })
  } catch (cause) {
    const reason = (cause as Error).message.split('. ')[0] ?? ''
    const [, option] = /^Unknown option '--?([^'=]+)/.exec(reason) ?? []
    const nearest = option && nearestNames(option, Object.keys(config.options ?? {}))[0]
    const hint = nearest ? `: did you mean '--${nearest}'?` : '.'
    throw new OperatorError(`${reason}${hint} See 'masquerade help ${command}'.`, {
      exitCode: exitCodes.usage,
      cause,
    })
  }
}

export function refuseUse(command: string, reason: string): never {
  const end = reason.endsWith('?') ? '' : '.'
  throw new OperatorError(`${reason}${end} See 'masquerade help ${command}'.`, { exitCode: exitCodes.usage })
}

export function refuseCommand(name: string, known: readonly string[]): never {
  const [nearest] = nearestNames(name, known)
  const hint = nearest === undefined ? '.' : `: did you mean '${nearest}'?`
  throw new OperatorError(
    `There is no command '${name.slice(0, 100)}'${hint} 'masquerade help' lists them.`,
    {
      exitCode: exitCodes.usage,
    },
  )
}

/** `There is no 'lst': did you mean 'list'?` */
export function refuseWord(first: string, second: string, known: readonly string[]): string {
  const isPair = known.some((verb) => verb.startsWith(`${first} `))
  const wanted = isPair ? `${first} ${second}`.trim() : first
  const [nearest] = nearestNames(wanted, known)
  const hint = nearest ?? (isPair ? known.find((verb) => verb.startsWith(`${first} `)) : undefined)
  return `There is no '${wanted.slice(0, 100)}'${hint === undefined ? '' : `: did you mean '${hint}'?`}`
}

function listWords(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** A complaint about the number of arguments; undefined when it is right. */
function checkCount(verb: string, takes: readonly string[], count: number): string | undefined {
  const least = takes.filter((name) => !name.endsWith('?')).length
  const most = takes.some((name) => name.endsWith('…')) ? Number.POSITIVE_INFINITY : takes.length
  if (count >= least && count <= most) return undefined
  if (takes.length === 0) return `'${verb}' takes no name`
  const nouns = takes.map((name) => {
    const noun = name.replace(/[?…]$/, '').toLowerCase().replaceAll('-', ' ')
    return name.endsWith('…')
      ? `one ${noun} or more`
      : name.endsWith('?')
        ? `a ${noun} or none`
        : `one ${noun}`
  })
  return `Name ${nouns.join(', then ')}`
}
