import { OperatorError } from '../kernel/operator-error.ts'
import { Problem } from '../kernel/problem.ts'
import { refuseCommand } from './command.ts'
import { commandNames, loadCommand } from './commands.ts'
import { exitCodes } from './exit-codes.ts'
import { warn } from './surroundings.ts'

const aliases: Readonly<Record<string, string>> = {
  '--help': 'help',
  '-h': 'help',
  '--version': 'version',
  '-v': 'version',
}

/** Runs a command line and returns its exit code. A mistake of the operator is one line on standard error. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    return await dispatch(args)
  } catch (error) {
    if (!(error instanceof OperatorError || error instanceof Problem)) throw error
    warn(`masquerade: ${error.message}\n`)
    return error instanceof OperatorError ? error.exitCode : exitCodes.failed
  }
}

async function dispatch([first = 'help', ...rest]: readonly string[]): Promise<number> {
  const name = aliases[first] ?? first
  const own = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest
  const asksForHelp = own.includes('--help') || own.includes('-h')
  const command = await loadCommand(name)
  if (!command) return refuseCommand(name, commandNames)
  if (!asksForHelp) return command.run(rest)
  return ((await loadCommand('help')) ?? command).run([name])
}
