import { OperatorError } from '../kernel/operator-error.ts'
import { Problem } from '../kernel/problem.ts'
import { loadCommand } from './commands.ts'

async function run(args: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = args.map((arg, at) => (at === 0 ? (aliases[arg] ?? arg) : arg))
  const own = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest
  const asksForHelp = own.includes('--help') || own.includes('-h')
  const command = await loadCommand(asksForHelp ? 'help' : name)
  if (!command)
    throw new OperatorError(`There is no command '${name}'. 'masquerade help' lists them.`, { exitCode: 2 })
  return command.run(asksForHelp ? [name] : rest)
}

const aliases: Readonly<Record<string, string>> = {
  '--help': 'help',
  '-h': 'help',
  '--version': 'version',
  '-v': 'version',
}

try {
  process.exitCode = await run(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof OperatorError || error instanceof Problem)) throw error
  process.stderr.write(`masquerade: ${error.message}\n`)
  process.exitCode = error instanceof OperatorError ? error.exitCode : 1
}
