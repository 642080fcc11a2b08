import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { commandNames, loadCommands } from '../../../src/cli/commands.ts'
import { clause } from '../../support/clause.ts'
import { findProgram } from '../../support/find-program.ts'
import { runHere } from '../../support/run-here.ts'

const execute = promisify(execFile)

/** What a shell offers at the end of each line. The folder has one file, `rules.yaml`. */
const offered: Readonly<Record<string, readonly string[]>> = {
  'masquerade gr': ['group'],
  'masquerade help gr': ['group'],
  'masquerade user set-': ['set-password'],
  'masquerade group members ': ['add', 'list', 'remove'],
  'masquerade completion ': ['bash', 'fish', 'zsh'],
  'masquerade rules apply --dr': ['--dry-run'],
  'masquerade user remove --js': ['--json'],
  'masquerade policy exempt user ': ['rules.yaml'],
  'masquerade group members list ': ['rules.yaml'],
  'masquerade rules apply -f ru': ['rules.yaml'],
}

/** Offers each line in a real zsh behind a terminal of its own, and ends it with a widget that prints a mark. */
const zshProgram = `
zmodload zsh/zpty
zpty Z zsh -f -i
await() { local part; REPLY=; while [[ $REPLY != *"$1"* ]]; do zpty -r Z part || return; REPLY+=$part; done }
zpty -w Z "PS1=; stty -echo columns 400 rows 100; unsetopt prompt_sp prompt_cr; fpath=($1 \\$fpath); autoload -Uz compinit; compinit -D -u
mark() { print -r -- 'E''ND'; BUFFER= }; zle -N mark; bindkey '^X' mark; bindkey '^B' list-choices; print RE''ADY"
await READY
shift
for line in "$@"; do
  zpty -w -n Z "$line"$'\\x02\\x18'
  await END
  print -r -- "$REPLY"
done
zpty -d Z`

describe('completion', () => {
  let folder: string
  let work: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'masquerade-completion-'))
    work = await mkdtemp(join(folder, 'work'))
    await writeFile(join(work, 'rules.yaml'), '')
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { code, stdout } = await runHere(['completion', shell])
      assert.equal(code, 0)
      await writeFile(join(folder, shell === 'zsh' ? '_masquerade' : shell), stdout)
    }
  })
  after(() => rm(folder, { recursive: true, force: true }))
  const skipWithout = (shell: string) => !findProgram(shell) && `${shell} is not installed`
  const run = async (shell: string, ...args: string[]) =>
    (await execute(shell, args, { cwd: work, env: { ...process.env, HOME: work, TERM: 'xterm' } })).stdout

  clause(
    'SVC-15',
    '`masquerade completion bash`, `zsh` and `fish` print scripts that complete every command, verb and option.',
    async () => {
      for (const file of ['bash', '_masquerade', 'fish']) {
        const text = await run('cat', join(folder, file))
        for (const { name, verbs = [], options = {} } of await loadCommands())
          for (const word of [name, ...verbs.flatMap((verb) => verb.split(' ')), ...Object.keys(options)])
            assert.ok(text.includes(word), `${file}: ${name} ${word}`)
      }
      assert.equal((await runHere(['completion', 'tcsh'])).code, 2)
    },
  )

  test('in bash', async () => {
    const script = join(folder, 'bash')
    assert.match(
      await run('bash', '-c', `source '${script}'; complete -p masquerade`),
      /-o default -F _masquerade masquerade/,
    )
    const complete = async (line: string) => {
      const program = `source '${script}'; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _masquerade; printf '%s\\n' "\${COMPREPLY[@]}"`
      const out = await run('bash', '-c', program, 'bash', ...line.split(' '))
      return out.split('\n').filter(Boolean)
    }
    assert.deepEqual(await complete('masquerade '), [...commandNames])
    // Files are what bash adds where the function has nothing.
    for (const [line, words] of Object.entries(offered))
      assert.deepEqual((await complete(line)).sort(), words[0] === 'rules.yaml' ? [] : words, line)
  })

  test('in zsh', { skip: skipWithout('zsh') }, async () => {
    await run('zsh', '-n', join(folder, '_masquerade'))
    const lines = ['masquerade ', ...Object.keys(offered)]
    const out = await run('zsh', '-f', '-c', zshProgram, 'zsh', folder, ...lines)
    const screens = out.split('END').map(readScreen)
    const [first = [], ...others] = screens
    assert.deepEqual(first.sort(), [...commandNames].sort())
    for (const [at, [line, words]] of Object.entries(offered).entries())
      assert.deepEqual(others[at]?.sort(), words, line)
  })

  test('in fish', { skip: skipWithout('fish') }, async () => {
    const script = join(folder, 'fish')
    await run('fish', '--no-execute', script)
    const lines = ['masquerade ', ...Object.keys(offered)]
    const program = [`source '${script}'`, ...lines.map((line) => `complete -C '${line}'; echo END`)].join(
      '; ',
    )
    const out = await run('fish', '--no-config', '-c', program)
    const [first = [], ...others] = out
      .split('END\n')
      .map((part) => part.split('\n').flatMap((line) => line.split('\t')[0] || []))
    assert.deepEqual(first.sort(), [...commandNames].sort())
    for (const [at, [line, words]] of Object.entries(offered).entries())
      assert.deepEqual(others[at]?.sort(), words, line)
  })
})

/** The words below the line that is edited, up to where the cursor goes back; of described ones the first of each row. */
function readScreen(screen: string): string[] {
  // biome-ignore-start lint/suspicious/noControlCharactersInRegex: sequences of terminals begin with one.
  const [, list = ''] = /\n(?:\x1b\[J)+([\s\S]*?)\x1b\[\d*A/.exec(screen) ?? []
  const rows = list.replaceAll(/\x1b\[[0-9;?]*[A-Za-z]|\r/g, '').split('\n')
  // biome-ignore-end lint/suspicious/noControlCharactersInRegex: as above
  return rows.flatMap((row) =>
    row.includes(' -- ') ? row.split(/\s+-- /).slice(0, 1) : row.trim().split(/\s+/),
  )
}
