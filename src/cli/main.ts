import { OperatorError } from '../kernel/operator-error.ts'
import { Problem } from '../kernel/problem.ts'
import { application } from './application.ts'
import { ca } from './ca.ts'
import type { Command } from './command.ts'
import { database } from './database.ts'
import { exportCommand } from './export.ts'
import { help } from './help.ts'
import { importCommand } from './import.ts'
import { keys } from './keys.ts'
import { login } from './login.ts'
import { logout } from './logout.ts'
import { migrate } from './migrate.ts'
import { rules } from './rules.ts'
import { serve } from './serve.ts'
import { status } from './status.ts'
import { token } from './token.ts'
import { versionCommand } from './version.ts'

/** In the order in which the help lists them. */
export const commands: readonly Command[] = [
  serve,
  status,
  token,
  login,
  logout,
  application,
  keys,
  database,
  rules,
  importCommand,
  exportCommand,
  migrate,
  ca,
  versionCommand,
  help,
]

async function run(args: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = args.map((arg, at) => (at === 0 ? (aliases[arg] ?? arg) : arg))
  const command = commands.find((candidate) => candidate.name === name)
  if (!command)
    throw new OperatorError(`There is no command '${name}'. 'masquerade help' lists them.`, { exitCode: 2 })
  if (rest.includes('--help') || rest.includes('-h')) return help.run([name], { commands })
  return command.run(rest, { commands })
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
