import { loadCommands } from './commands.ts'
import { exitCodeTable } from './exit-codes.ts'

/** The page `docs/commands.md`, from the table of commands. */
export async function renderCommands(): Promise<string> {
  const all = await loadCommands()
  return [
    '# The command line',
    '',
    'Written by `npm run docs` from the commands themselves. `masquerade help COMMAND` prints the same.',
    '',
    'Commands that change or show something of the service use its public APIs: as the person who signed in with `masquerade',
    'login`, with `--token`, or as the administrator with `--admin`. The last needs no sign-in: the user of the machine who can read',
    'the data directory may use it. Commands about the installation itself (`token`, `application`, `keys`, `admin`, `import`, `export`, `doctor`)',
    'work on the data directory and the database of the service.',
    '',
    '- `--json` prints the result as JSON, and nothing else, on standard output. Notes and questions go to standard error.',
    '- Passwords are asked for on a terminal and read from standard input elsewhere. No command takes one as an argument.',
    '- Changes that people or applications would notice are shown and asked about on a terminal; elsewhere they need `--yes`.',
    '- Unknown commands, verbs and options are refused with the nearest known one. Empty lists say that they are empty.',
    '- `masquerade completion bash`, `zsh` and `fish` complete commands, verbs and options.',
    '',
    '| command | what it does |',
    '| --- | --- |',
    ...all.map(({ name, summary }) => `| [\`${name}\`](#${name}) | ${summary} |`),
    '',
    '## Exit codes',
    '',
    '`psql` ends with the codes of psql itself.',
    '',
    '| code | meaning |',
    '| --- | --- |',
    ...exitCodeTable.map(([code, meaning]) => `| ${code} | ${meaning} |`),
    ...all.flatMap(({ name, help }) => ['', `## ${name}`, '', '```text', help.trim(), '```']),
    '',
  ].join('\n')
}
