import { type Command, type Commands, commandOf } from './command.ts'
import { report } from './surroundings.ts'

/** A command as the shells complete it. */
interface Completed {
  readonly name: string
  readonly summary: string
  /** First words, such as `list` and `members`. */
  readonly words: readonly string[]
  /** Second words by first word, such as `members` to `list`, `add` and `remove`. */
  readonly seconds: Readonly<Record<string, readonly string[]>>
  readonly options: readonly {
    readonly name: string
    readonly short?: string
    readonly takesValue: boolean
  }[]
}

export function createCompletion(commands: Commands): Command {
  const generate = (render: (all: readonly Completed[]) => string) => ({
    async run(values: { readonly json?: boolean | undefined }) {
      const all = await Promise.all(Object.values(commands).map((load) => load()))
      const script = render(all.map((command) => describe(command, Object.keys(commands))))
      report(values, { script }, script)
      return 0
    },
  })
  return commandOf({
    name: 'completion',
    summary: 'Print a script that completes commands and options in a shell',
    help: `
Usage: masquerade completion bash [--json]
       masquerade completion zsh
       masquerade completion fish

Prints a script for the shell. It is made from the same table as the commands themselves. For every new shell:

  bash   echo 'source <(masquerade completion bash)' >> ~/.bashrc
  zsh    masquerade completion zsh > "\${fpath[1]}/_masquerade"
  fish   masquerade completion fish > ~/.config/fish/completions/masquerade.fish`,
    options: { json: { type: 'boolean' } },
    verbs: { bash: generate(renderBash), zsh: generate(renderZsh), fish: generate(renderFish) },
  })
}

function describe({ name, summary, verbs = [], options = {} }: Command, names: readonly string[]): Completed {
  const seconds: Record<string, string[]> = {}
  for (const [first = '', second] of verbs.map((verb) => verb.split(' ')))
    if (second !== undefined) seconds[first] = [...(seconds[first] ?? []), second]
  return {
    name,
    summary,
    words: name === 'help' ? names : [...new Set(verbs.map((verb) => verb.split(' ', 1)[0] ?? ''))],
    seconds,
    options: [
      ...Object.entries(options).map(([option, { type, short }]) => ({
        name: option,
        ...(short !== undefined && { short }),
        takesValue: type === 'string',
      })),
      { name: 'help', takesValue: false },
    ],
  }
}

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
const join = (words: readonly string[]) => quote(words.join(' '))
const withDashes = ({ options }: Completed) => options.map(({ name }) => `--${name}`)

function renderBash(all: readonly Completed[]): string {
  const cases = all.map((one) =>
    [
      `    ${one.name})`,
      `      words=${join(one.words)}`,
      `      options=${join(withDashes(one))}`,
      '      ;;',
    ].join('\n'),
  )
  const pairs = all.flatMap(({ name, seconds }) =>
    Object.entries(seconds).map(([first, list]) => `    '${name} ${first}') words=${join(list)} ;;`),
  )
  return `# bash completion of masquerade
_masquerade() {
  local current=\${COMP_WORDS[COMP_CWORD]} words='' options=''
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W ${join(all.map(({ name }) => name))} -- "$current"))
    return
  fi
  case \${COMP_WORDS[1]} in
${cases.join('\n')}
  esac
  if ((COMP_CWORD > 2)); then words=''; fi
  if ((COMP_CWORD == 3)); then
    case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${pairs.join('\n')}
    esac
  fi
  if [[ $current == -* ]]; then words=$options; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _masquerade masquerade
`
}

function renderZsh(all: readonly Completed[]): string {
  const names = all.map(({ name, summary }) => `    ${quote(`${name}:${summary.replaceAll(':', '\\:')}`)}`)
  const cases = all.map(
    (one) => `    ${one.name}) list=(${one.words.join(' ')}); options=(${withDashes(one).join(' ')}) ;;`,
  )
  const pairs = all.flatMap(({ name, seconds }) =>
    Object.entries(seconds).map(([first, list]) => `      '${name} ${first}') list=(${list.join(' ')}) ;;`),
  )
  return `#compdef masquerade
_masquerade() {
  local -a commands list options
  commands=(
${names.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  case $words[2] in
${cases.join('\n')}
  esac
  (( CURRENT > 3 )) && list=()
  if (( CURRENT == 4 )); then
    case "$words[2] $words[3]" in
${pairs.join('\n')}
    esac
  fi
  if [[ $words[CURRENT] == -* ]]; then
    compadd -- $options
  elif (( $#list )); then
    compadd -- $list
  else
    _files
  fi
}
if [[ $funcstack[1] == _masquerade ]]; then _masquerade "$@"; else compdef _masquerade masquerade; fi
`
}

/** Words count by their place: `masquerade policy exempt user` is no `masquerade user`. */
function renderFish(all: readonly Completed[]): string {
  const complete = (condition: string, rest: string) =>
    `complete -c masquerade -n ${quote(condition)} ${rest}`
  const lines = all.flatMap(({ name, summary, words, seconds, options }) => [
    complete('__masquerade_after', `-f -a ${name} -d ${quote(summary)}`),
    ...(words.length > 0 ? [complete(`__masquerade_after ${name}`, `-f -a ${join(words)}`)] : []),
    ...Object.entries(seconds).map(([first, list]) =>
      complete(`__masquerade_after ${name} ${first}`, `-f -a ${join(list)}`),
    ),
    ...options.map(({ name: option, short, takesValue }) =>
      complete(
        `__masquerade_in ${name}`,
        `-l ${option}${short === undefined ? '' : ` -s ${short}`}${takesValue ? ' -r' : ''}`,
      ),
    ),
  ])
  return `# fish completion of masquerade
function __masquerade_after
  set -l words (commandline -opc)
  set -e words[1]
  test "$words" = "$argv"
end
function __masquerade_in
  set -l words (commandline -opc)
  test (count $words) -gt 1; and test $words[2] = $argv[1]
end
${lines.join('\n')}
`
}
