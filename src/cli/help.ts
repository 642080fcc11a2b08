import { OperatorError } from '../kernel/operator-error.ts'
import type { Command } from './command.ts'
import { commands, loadCommand } from './commands.ts'

export const help: Command = {
  name: 'help',
  summary: 'Show this list, or how to use one command',
  help: 'Usage: masquerade help [command]',
  async run([name]) {
    const command = name === undefined ? null : await loadCommand(name)
    if (command === undefined)
      throw new OperatorError(`There is no command '${name}'. 'masquerade help' lists them.`, { exitCode: 2 })
    process.stdout.write(command ? `${command.help.trim()}\n` : await overview())
    return 0
  },
}

async function overview(): Promise<string> {
  const all = await Promise.all(Object.values(commands).map((load) => load()))
  const width = Math.max(...all.map(({ name }) => name.length))
  return [
    'Masquerade: a self-hosted directory and data masking service for PostgreSQL.',
    '',
    'Usage: masquerade <command> [options]',
    '',
    ...all.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    "'masquerade help <command>' says more about one. Settings are environment variables: docs/settings.md.",
    'Exit codes: 0 done, 1 failed (the reason is on standard error), 2 wrong use or a wrong setting.',
    '',
  ].join('\n')
}
