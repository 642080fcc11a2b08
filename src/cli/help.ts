import { type Command, type Commands, readArgs, refuseCommand } from './command.ts'
import { exitCodeTable } from './exit-codes.ts'
import { report } from './surroundings.ts'

const options = { json: { type: 'boolean' } } as const

export function createHelp(commands: Commands): Command {
  return {
    name: 'help',
    summary: 'Show this list, or how to use one command',
    help: 'Usage: masquerade help [COMMAND] [--json]',
    options,
    async run(args) {
      const { values, positionals } = readArgs('help', args, { options, allowPositionals: true })
      const [name] = positionals
      if (name !== undefined && !Object.hasOwn(commands, name)) refuseCommand(name, Object.keys(commands))
      const loads = Object.entries(commands).filter(([one]) => name === undefined || one === name)
      const shown = await Promise.all(loads.map(([, load]) => load()))
      const words = name === undefined ? renderOverview(shown) : `${shown[0]?.help.trim()}\n`
      report(values, shown.map(describe), words)
      return 0
    },
  }
}

/** The table of commands as data, for programs that call them. */
function describe({ name, summary, verbs = [], options: taken = {} }: Command) {
  return { name, summary, verbs, options: Object.keys(taken) }
}

function renderOverview(all: readonly Command[]): string {
  const width = Math.max(...all.map(({ name }) => name.length))
  return [
    'Masquerade: a self-hosted directory and data masking service for PostgreSQL.',
    '',
    'Usage: masquerade <command> [options]',
    '',
    ...all.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    "'masquerade help <command>' says more about one. Settings are environment variables: docs/settings.md.",
    'Exit codes:',
    ...exitCodeTable.map(([code, meaning]) => `  ${code}  ${meaning}`),
    '',
  ].join('\n')
}
