import { type ParseArgsConfig, parseArgs } from 'node:util'
import { OperatorError } from '../kernel/operator-error.ts'

export interface Command {
  readonly name: string
  /** One line for the list of commands. */
  readonly summary: string
  /** Shown by `masquerade help <name>`. */
  readonly help: string
  /** Returns the exit code: 0 done, 1 failed, 2 wrong use, others as the command's help says. */
  run(args: readonly string[]): Promise<number>
}

/** Commands by name; each is loaded when it is asked for. */
export type Commands = Readonly<Record<string, () => Promise<Command>>>

/** Options and arguments of a command; what it does not know is refused in one line. */
export function readArgs<const C extends ParseArgsConfig>(
  command: string,
  args: readonly string[],
  config: C,
) {
  try {
    return parseArgs({ ...config, args: [...args], strict: true })
  } catch (cause) {
    const reason = (cause as Error).message.split('. ')[0]
    throw new OperatorError(`${reason}. See 'masquerade help ${command}'.`, { exitCode: 2, cause })
  }
}
