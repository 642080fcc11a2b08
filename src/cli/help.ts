import { OperatorError } from '../kernel/operator-error.ts'
import type { Command } from './command.ts'

export const help: Command = {
  name: 'help',
  summary: 'Show this list, or how to use one command',
  help: 'Usage: masquerade help [command]',
  async run([name], { commands }) {
    process.stdout.write(name === undefined ? overview(commands) : `${find(commands, name).help.trim()}\n`)
    return 0
  },
}

function find(commands: readonly Command[], name: string): Command {
  const command = commands.find((candidate) => candidate.name === name)
  if (!command)
    throw new OperatorError(`There is no command '${name}'. 'masquerade help' lists them.`, { exitCode: 2 })
  return command
}

function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  return [
    'Masquerade: a self-hosted directory and data masking service for PostgreSQL.',
    '',
    'Usage: masquerade <command> [options]',
    '',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    "'masquerade help <command>' says more about one. Settings are environment variables: docs/settings.md.",
    'Exit codes: 0 done, 1 failed (the reason is on standard error), 2 wrong use or a wrong setting.',
    '',
  ].join('\n')
}
