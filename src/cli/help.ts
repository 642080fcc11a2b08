import { OperatorError } from '../kernel/operator-error.ts'
import type { Command, Commands } from './command.ts'

export function createHelp(commands: Commands): Command {
  return {
    name: 'help',
    summary: 'Show this list, or how to use one command',
    help: 'Usage: masquerade help [command]',
    async run([name]) {
      if (name !== undefined && !Object.hasOwn(commands, name))
        throw new OperatorError(`There is no command '${name}'. 'masquerade help' lists them.`, {
          exitCode: 2,
        })
      const command = name === undefined ? undefined : await commands[name]?.()
      process.stdout.write(command ? `${command.help.trim()}\n` : await overview(commands))
      return 0
    },
  }
}

async function overview(commands: Commands): Promise<string> {
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
